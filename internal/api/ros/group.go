package ros

import (
	"context"

	"github.com/pintle-dev/pintle/internal/api/rpc"
)

type moveResourceGroupInput struct {
	region
	ResourceID         string `rpc:"ResourceId,required" length:",64"`
	ResourceType       string `rpc:",required" enum:"stack,stackgroup,template"`
	NewResourceGroupID string `rpc:"NewResourceGroupId,required" length:",64" pattern:"[-_a-zA-Z0-9]*"`
}

// moveResourceGroup moves a stack or a template to a resource group. A group is only a name and need not be created.
func (f *handler) moveResourceGroup(ctx context.Context, in moveResourceGroupInput) (rpc.None, error) {
	switch in.ResourceType {
	case "stack":
		ref, _, err := f.ref(ctx, stackInput{in.region, in.ResourceID})
		if err != nil {
			return rpc.None{}, err
		}
		if _, err := f.find(ctx, stackInput{in.region, in.ResourceID}); err != nil {
			return rpc.None{}, err
		}
		return rpc.None{}, f.engine.MoveToGroup(ctx, ref, in.NewResourceGroupID)
	case "template":
		return rpc.None{}, storedTemplates{f}.changed(ctx, in.ResourceID, func(kept *keptTemplate) error {
			kept.Group = in.NewResourceGroupID
			return nil
		})
	}
	return rpc.None{}, rpc.Invalid("ResourceId", "the %s %s does not exist: only stacks and templates are kept here", in.ResourceType, in.ResourceID)
}
