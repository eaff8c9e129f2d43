package engine

import (
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// The words of CloudFormation's events about an import. Source: events of imports as users have published them.
const (
	importStarted   = "Resource import started."
	importCompleted = "Resource import completed."
	importTagging   = "Apply stack-level tags to imported resource if applicable."
)

// importResource asks for an existing resource to become the one of a step.
func (m *machine) importResource(
	s *store.Step, of store.Import, properties, metadata value.Value, ask asked, problem string,
) error {
	s.Touched = true
	instance := m.newInstance(s.Logical, store.InstanceBody{
		Type: s.Plan.Type, Token: ask.token, Timeout: ask.timeout, Properties: ask.properties, Metadata: metadata,
	})
	instance.PhysicalID, instance.Imported = of.ID, true
	s.Instance = instance.Number
	m.resourceEvent(instance, store.VerbImport, store.ProgressRunning, importStarted, properties, false)
	if problem != "" {
		return m.fail(s, instance, store.VerbImport, problem, properties)
	}
	instance.Reached = true
	m.ask(s, instance, store.TypeImport, ask, value.Value{}).Body.Holder = of.Holder
	m.begin(s)
	return nil
}

// concludeImport ends the import of a resource. CloudFormation then updates the resource's tags; here its holder
// decides them.
func (m *machine) concludeImport(s *store.Step, i *store.Instance, r *store.Request, v verdict) error {
	m.absorb(s, i, r, v)
	if !v.success {
		return m.fail(s, i, store.VerbImport, v.reason, r.Body.Properties)
	}
	m.resourceEvent(i, store.VerbImport, store.ProgressSucceeded, importCompleted, r.Body.Properties, false)
	m.resourceEvent(i, store.VerbUpdate, store.ProgressRunning, importTagging, r.Body.Properties, false)
	m.resourceEvent(i, store.VerbUpdate, store.ProgressSucceeded, "", r.Body.Properties, false)
	m.done(s)
	return nil
}

// undoesImport reports whether a rollback lets an instance go instead of deleting it: the resource existed before
// the operation. It is false for nil, and in an operation that is not undone: then the policies of the resource
// count.
func (m *machine) undoesImport(i *store.Instance) bool {
	undoing := m.op.Phase == store.PhaseRevert || m.op.Phase == store.PhaseRevertCleanup || m.discarding()
	return undoing && i != nil && i.Imported && i.Number > m.op.Stood
}

// letGo removes an imported instance from the stack. The resource stays.
func (m *machine) letGo(i *store.Instance) {
	m.resourceEvent(i, store.VerbImportRollback, store.ProgressRunning, "", i.Body.Properties, false)
	i.Role = store.RoleGone
	i.Shown = m.op.Kind != store.KindUpdate
	m.resourceEvent(i, store.VerbImportRollback, store.ProgressSucceeded, "", i.Body.Properties, false)
}
