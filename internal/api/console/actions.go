package console

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// offer is an action that a stack's page offers.
type offer struct {
	Name  string // in the path
	Label string
	// Text describes the action.
	Text string
	// Confirm requires the user to type the stack's name. Skip offers to leave out resources by name, and Force to leave
	// out all that fail.
	Confirm, Skip, Force bool
}

// The actions.
var (
	offerCancel = offer{
		Name: "cancel", Label: "Cancel the update", Text: "Running requests are cancelled, and the update is rolled back.",
	}
	offerStop = offer{
		Name: "cancel", Label: "Cancel the creation",
		Text: "Running requests are cancelled, and all that was created is deleted. The stack stays in the list, with its events.",
	}
	offerRetry = offer{Name: "retry", Label: "Retry", Text: "Retries what failed, with the same template and parameters."}
	offerBack  = offer{Name: "rollback", Label: "Roll back", Text: "All changes are undone, and the stack returns to its last stable state."}
	offerGoOn  = offer{
		Name: "continue", Label: "Continue the rollback", Text: "Retries the resources that could not be rolled back.",
		Skip: true, Force: true,
	}
	offerDelete = offer{
		Name: "delete", Label: "Delete the stack", Text: "All resources are deleted, and the stack with them.", Confirm: true,
	}
)

// offers returns the available actions for the stack's current state. The engine checks them again.
func offers(stack *store.Stack) []offer {
	if !stack.Live || stack.Parent != "" {
		return nil // a nested stack follows its root
	}
	var list []offer
	ros := stack.Dialect == engine.ROS.Name()
	switch {
	case stack.Kind == store.KindCreate && stack.Phase == store.PhaseApply:
		list = append(list, offerStop)
	case stack.Kind == store.KindUpdate && (stack.Phase == store.PhaseApply || stack.Phase == store.PhasePrepare):
		list = append(list, offerCancel)
	case (stack.Kind == store.KindUpdate || stack.Kind == store.KindImport) && stack.Phase == store.PhaseRevertFailed:
		list = append(list, offerGoOn)
	case stack.Kind == store.KindCreate && stack.Phase == store.PhaseFailed && ros:
		list = append(list, offerRetry)
	case (stack.Kind == store.KindCreate || stack.Kind == store.KindUpdate) && stack.Phase == store.PhaseFailed:
		list = append(list, offerRetry, offerBack)
	}
	if stack.Phase.Final() {
		remove := offerDelete
		remove.Force = stack.Kind == store.KindDelete && stack.Phase == store.PhaseFailed
		list = append(list, remove)
	} else if stack.Kind == store.KindCreate && (stack.Phase == store.PhaseApply || stack.Phase == store.PhasePrepare && !ros) {
		remove := offerDelete
		remove.Label, remove.Text = "Delete while creating", "The creation stops. All that was created is deleted, and the stack with it."
		list = append(list, remove)
	}
	return list
}

// actionNames are the actions in the form in which they are recorded.
var actionNames = []string{
	"sign-out", "respond", "cancel", "retry", "rollback", "continue", "delete", "execute", "delete-change-set",
}

// notices are the messages after an action, by the word in the page's URL.
var notices = map[string]string{
	"cancel": "The operation is being cancelled.", "retry": "The operation is retried.", "rollback": "The stack is being rolled back.",
	"continue": "The rollback continues.", "delete": "The stack is being deleted.", "respond": "The request was answered.",
	"execute": "The change set is being executed.", "delete-change-set": "The change set was deleted.",
}

// stackAction executes an action of a stack's page.
func (sp *stackPages) stackAction(v *visit) error {
	stack, err := sp.stack(v)
	if err != nil {
		return err
	}
	action := Action{Name: v.r.PathValue("action")}
	if !slices.Contains(actionNames, action.Name) {
		return errNothing
	}
	err = stale(v, &stack)
	if err == nil {
		err = sp.act(v, &stack, action.Name)
	}
	if err != nil {
		return sp.refused(v, &stack, action, err, func(code int, problem string) error {
			return sp.showStack(v, code, &stack, problem)
		})
	}
	sp.done(v, &stack, action, stackURL(stack.ID), action.Name)
	return nil
}

// standing identifies the state of a stack as displayed, on which a user bases a decision.
func standing(stack *store.Stack) string {
	return strconv.Itoa(stack.Operation) + " " + stackStatus(stack).Text
}

// stale returns an error if the page of a form showed a different state of the stack. It accepts a form that is sent
// twice: the engine recognizes its token and does nothing.
func stale(v *visit, stack *store.Stack) error {
	seen, token := v.r.PostForm.Get("standing"), onceOf(v)
	if seen == "" || seen == standing(stack) {
		return nil
	}
	if token != "" && slices.ContainsFunc(stack.Tokens, func(use store.TokenUse) bool { return use.Token == token }) {
		return nil
	}
	_, was, _ := strings.Cut(seen, " ")
	is := stackStatus(stack).Text
	if was == is {
		is += " by a later operation"
	}
	return &failure{http.StatusConflict, "The stack has moved on: your page showed " + was + ", and now it is in " + is +
		". Nothing was changed: reload the page and decide again."}
}

// onceOf returns the idempotency token of a form, or "" if the form has none.
func onceOf(v *visit) string {
	once := v.r.PostForm.Get("once")
	if once == "" || len(once) > 40 || strings.Trim(once, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return ""
	}
	return "Console-" + v.r.PathValue("action") + "-" + once
}

// act executes an action. The engine adds it to the stack's audit list in the same transaction.
func (sp *stackPages) act(v *visit, stack *store.Stack, action string) (err error) {
	ref, form, token := refOf(stack), v.r.PostForm, onceOf(v)
	noted := func(what string) context.Context { return engine.Noted(v.r.Context(), what+" by "+v.by()) }
	force := form.Get("force") != ""
	switch action {
	case offerCancel.Name:
		what := "update cancelled"
		if stack.Kind == store.KindCreate {
			what = "create cancelled"
		}
		err = sp.Engine.CancelUpdate(noted(what), engine.CancelUpdate{Stack: ref, Token: token, Create: true})
	case offerBack.Name:
		_, err = sp.Engine.Rollback(noted("rollback asked for"), engine.RollbackStack{Stack: ref, Token: token})
	case offerGoOn.Name:
		var skip []wire.LogicalID
		for _, name := range strings.Fields(strings.ReplaceAll(form.Get("skip"), ",", " ")) {
			skip = append(skip, wire.LogicalID(name))
		}
		if force && len(skip) > 0 {
			return &failure{http.StatusBadRequest, "Name resources to leave out, or leave out all that fail, not both. Nothing was changed."}
		}
		_, err = sp.Engine.ContinueRollback(noted("rollback continued"), engine.ContinueRollback{
			Stack: ref, Token: token, Skip: skip, Force: force,
		})
	case offerRetry.Name:
		err = sp.retry(noted("retry asked for"), stack, ref, token)
	case offerDelete.Name:
		if form.Get("confirm") != stack.Name {
			return &failure{http.StatusBadRequest, "Type the name of the stack to delete it. Nothing was changed."}
		}
		_, err = sp.Engine.Delete(noted("delete asked for"), engine.DeleteStack{
			Stack: ref, Token: token, Force: force, Caller: callerOf(stack), StopCreate: true,
		})
	default:
		return errNothing
	}
	return err
}

// callerOf returns the caller for ROS requests: the account itself.
func callerOf(stack *store.Stack) string {
	if stack.Dialect == engine.ROS.Name() {
		return stack.Account
	}
	return ""
}

// retry retries a failed create or update with the same inputs.
func (sp *stackPages) retry(ctx context.Context, stack *store.Stack, ref engine.Ref, token string) error {
	if stack.Dialect == engine.ROS.Name() {
		_, err := sp.Engine.ContinueCreate(ctx, engine.ContinueCreate{
			Options: engine.Options{Token: token, Caller: callerOf(stack)}, Stack: ref, Mode: engine.ContinueRecreate,
		})
		return err
	}
	revision, err := sp.Engine.Revision(ctx, *stack)
	if err != nil {
		return err
	}
	in := engine.UpdateStack{Stack: ref, UsePrevious: true}
	in.Token, in.Capabilities, in.DisableRollback = token, stack.Capabilities, true // so that a second failure is not rolled back either
	for _, name := range slices.Sorted(slices.Values(revision.Inputs)) {
		in.Parameters = append(in.Parameters, engine.Parameter{Key: name, UsePrevious: true})
	}
	_, err = sp.Engine.Update(ctx, in)
	return err
}
