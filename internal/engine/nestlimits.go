package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// mostNested is the maximum nesting depth of a stack.
	mostNested = 10
	// mostInTree is the maximum total number of resources of a stack and all stacks nested in it. Source:
	// CloudFormation, quotas, nested stack resources.
	mostInTree = 2500
	// longestName is the maximum length of a stack's name. Source: CloudFormation, CreateStack.
	longestName = 128
)

// rosMostNested is the maximum nesting depth of a ROS stack. Source: ROS, ALIYUN::ROS::Stack.
const rosMostNested = 5

// checkNesting rejects a stack that is nested too deep or in itself, or that would bring the tree above the limit of
// resources. It returns the template.
func (s nestedStacks) checkNesting(
	ctx context.Context, dialect Dialect, parent *store.Stack, n *nesting, text string,
) (*template.Template, error) {
	deepest, property := mostNested, "TemplateURL"
	if dialect == ROS {
		deepest = rosMostNested
	}
	if n.depth > deepest {
		return nil, invalid(fmt.Sprintf("Stacks may be nested %d deep, and this one would be nested in %d. "+
			"Move what is in it to one that is less deep.", deepest, n.depth))
	}
	root := *parent
	for {
		revision, err := s.store.Revision(ctx, root.Key, root.Revision)
		if err != nil {
			return nil, err
		}
		if revision.Template == text {
			return nil, invalid("The template of the nested stack is the one of " + root.Name + ", in which it is nested: " +
				"it would nest itself without end. Name another template as " + property + ".")
		}
		if root.Parent == "" {
			break
		}
		if root, err = s.store.Stack(ctx, root.Parent); err != nil {
			return nil, err
		}
	}
	t, err := s.parseNested(dialect, text)
	if err != nil {
		return nil, err
	}
	count := len(t.Resources)
	if err := s.countTree(ctx, root.ID, &count); err != nil {
		return nil, err
	}
	if count > mostInTree {
		return nil, invalid(fmt.Sprintf("A stack and all that is nested in it may have %d resources together. This one would have "+
			"at least %d.", mostInTree, count))
	}
	return t, nil
}

// parseNested reads the template of a nested stack, which has the dialect of its parent.
func (c Checker) parseNested(dialect Dialect, text string) (*template.Template, error) {
	if dialect != ROS {
		t, err := template.ParseSubmitted(text, c.env.parsed.limits) // the result of its macros is not known yet
		if err != nil {
			return nil, refused(dialect, err)
		}
		return t, nil
	}
	t, err := template.ParseROS(text, c.env.parsed.limits)
	if err != nil {
		return nil, refused(dialect, err)
	}
	if t.Locals { // Source: ROS, template section Locals
		return nil, invalid("The template of a nested stack cannot have Locals. Write their values where they are used.")
	}
	return t, nil
}

// countTree adds the resources of a stack and of all stacks nested in it to count, and stops beyond the limit.
func (s nestedStacks) countTree(ctx context.Context, id wire.StackID, count *int) error {
	stack, err := s.store.Stack(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !stack.Live {
		return nil
	} else if err != nil {
		return err
	}
	instances, err := s.store.Instances(ctx, stack.Key)
	if err != nil {
		return err
	}
	for _, i := range instances {
		if i.Role != store.RoleCurrent {
			continue
		}
		if *count++; *count > mostInTree {
			return nil
		}
		if s.env.isNested(i.Body.Type) {
			if err := s.countTree(ctx, wire.StackID(i.PhysicalID), count); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkRoot rejects the delete of a nested stack whose root has termination protection.
func (s nestedStacks) checkRoot(ctx context.Context, stack *store.Stack) error {
	if stack.Root == "" || !stack.Live {
		return nil
	}
	root, err := s.store.Stack(ctx, stack.Root)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil && root.Live && root.TerminationProtection {
		dialect, err := DialectOf(root.Dialect)
		if err != nil {
			return err
		}
		return dialect.refusals().protected(stack)
	}
	return err
}
