package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// statementType is the record type of function policy statements.
const statementType = "AWS::Lambda::Statement"

func statementName(r Reference, id string) string { return statementType + "/" + r.row() + "/" + id }

// AddStatement records a statement of a function's policy. Policies are not enforced.
func (se *settings) AddStatement(ctx context.Context, r Reference, id string, statement json.RawMessage) error {
	if err := se.exists(ctx, r); err != nil {
		return err
	}
	_, err := se.config.Catalog.Records.Put(ctx, registry.Item[registry.Record]{
		Scope: r.Scope, Name: statementName(r, id), Of: registry.Record{Properties: statement, Made: se.config.Now().UTC()},
	})
	if errors.Is(err, registry.ErrExists) {
		return &Error{
			Code: "ResourceConflictException", Status: http.StatusConflict, kind: ErrExists,
			Message: fmt.Sprintf("The statement id (%s) provided already exists. Please provide a new statement id, or remove the existing statement.", id),
		}
	}
	return err
}

// RemoveStatement removes a statement. It returns [ErrNotFound] if it does not exist.
func (se *settings) RemoveStatement(ctx context.Context, r Reference, id string) error {
	if err := se.exists(ctx, r); err != nil {
		return err
	}
	err := se.config.Catalog.Records.Delete(ctx, r.Scope, statementName(r, id), 0)
	if errors.Is(err, registry.ErrNotFound) {
		return &Error{
			Code: "ResourceNotFoundException", Status: http.StatusNotFound, kind: ErrNotFound,
			Message: fmt.Sprintf("Statement %s is not found in resource policy.", id),
		}
	}
	return err
}

// Statements returns the statements of a function, sorted by ID.
func (se *settings) Statements(ctx context.Context, r Reference) ([]json.RawMessage, error) {
	if err := se.exists(ctx, r); err != nil {
		return nil, err
	}
	var list []json.RawMessage
	err := se.eachStatement(ctx, r, func(i registry.Item[registry.Record]) error {
		list = append(list, i.Of.Properties)
		return nil
	})
	return list, err
}

func (se *settings) eachStatement(ctx context.Context, r Reference, do func(registry.Item[registry.Record]) error) error {
	const limit = 100
	prefix := statementName(r, "")
	for after := prefix; ; {
		page, err := se.config.Catalog.Records.List(ctx, r.Scope, after, limit)
		if err != nil {
			return err
		}
		for _, i := range page {
			if after = i.Name; !strings.HasPrefix(i.Name, prefix) {
				return nil
			}
			if err := do(i); err != nil {
				return err
			}
		}
		if len(page) < limit {
			return nil
		}
	}
}

// dropStatements removes all statements of a function that is being deleted.
func (se *settings) dropStatements(ctx context.Context, r Reference) error {
	return se.eachStatement(ctx, r, func(i registry.Item[registry.Record]) error {
		err := se.config.Catalog.Records.Delete(ctx, i.Scope, i.Name, 0)
		if errors.Is(err, registry.ErrNotFound) {
			return nil
		}
		return err
	})
}
