// Package engine runs stacks: it decides which requests to send and how answers change a stack, and makes no network
// calls.
//
// # Decisions
//
// The core is a pure state machine. A decision takes the rows of a stack and an input. It returns rows to write and
// requests to send. Type runner runs it: each method that changes state is one [store.Store.Apply]. The engine
// dispatches requests, acknowledges answers and returns to callers only after the commit. So an acknowledged answer
// is never lost, and a request is never forgotten: after a crash, the requests that were not dispatched are still in
// the table.
//
// Type decision is the working copy of one decision. Every subject has a type that holds only a pointer to it, so one
// subject calls another by a conversion: scheduler(d).run(). The subjects form layers. A subject calls its own layer
// and those below it; TestLayers enforces this.
//
//	starts    creation, update, deletion, rollback, continuation, cancellation, changeSets, changeSetExecution,
//	          drafts, macros, nestedStack, reports, manualAnswer, polling, reads, signals
//	run       operation, phases, scheduler, resource, replacement, removal, importing, requests, results
//	rows      all others: they read or change rows and start no work
//	decision  the rows, events, revisions and texts without secrets
//
// A decision that needs more rows returns [store.More], and the store loads them within the transaction. A decision
// that needs external data returns a need (needs.go). The loop in runner fetches the data and decides again.
//
// # Calls
//
// [Engine] consists of types that share the runner. [Planner] has the calls about change sets, [Queries] those that
// read stacks, [Checker] those that read templates, and [StateMachines] those about executions of state machines.
// Engine itself changes stacks and accepts the reports of providers. Clients do not call types nestedStacks, owners,
// deadlines and membership. These connect nested stacks with their parents, find existing resources and their stacks,
// fire due requests, and keep the node in the cluster.
//
// # Transitions
//
// Only these methods move rows from state to state.
//
//	row        from                      to                       method                      called by
//	operation  -                         prepare, apply, revert   operation.open              each start
//	           prepare                   apply                    macros.begin                macros.finish
//	           apply                     cleanup                  phases.enterCleanup         phases.endApply
//	           prepare, apply, cleanup   revert                   phases.beginRollback        operation.fail, cancellation
//	           prepare, apply            apply of a delete        phases.beginDelete          operation.fail, deletion
//	           revert                    revert cleanup           phases.enterCleanup         phases.endRevert
//	           any                       a final phase            operation.end               phases.end, operation.fail
//	step       -                         idle                     scheduler.addSteps          each start
//	           any                       idle, pending            phases.schedule             a phase that begins
//	           pending                   running                  scheduler.wait              resource, removal, replacement
//	           pending                   held                     scheduler.start             scheduler.run
//	           held                      pending                  requests.settle             reports
//	           pending, running          done                     scheduler.complete          results, resource, removal
//	           pending, running          failed                   scheduler.fail              results, resource
//	           running                   cancelled                scheduler.cancel            scheduler.fail, cancellation
//	           cancelled                 awaited                  phases.awaitCancelled       phases.end
//	           awaited                   idle                     requests.settle             reports
//	           awaited                   cancelled                scheduler.cancelRunning     cancellation
//	instance   -                         current                  decision.addInstance        resource, replacement, importing
//	           current                   pending delete           removal.mark and .remove    phases.beginCleanup, scheduler
//	           pending delete            current                  removal.unmark              results, removal.finish
//	           current, pending delete   each other               replacement.swap, .record   results
//	           pending delete            deleted                  removal.deleted             results, removal
//	           any                       retained                 removal.retain              removal, replacement
//	           pending delete            orphaned                 removal.orphan, .finish     results
//	request    -                         ready                    requests.send               resource, removal, replacement
//	           ready                     waiting                  requests.accept             reports, signals
//	           ready                     delayed                  removal.finish              results
//	           delayed                   ready                    requests.resend             a timer
//	           ready, waiting            settled                  requests.settle             reports, signals, polling
//
// The stack shows the state of its newest operation; decision.stackEvent sets both. A [Dialect] names the states for
// its service, and docs/states.md is generated from its table.
package engine
