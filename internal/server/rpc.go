package server

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/api/ros"
	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/engine"
)

// openROS creates the API of Alibaba Cloud ROS, whose calls are not signed as AWS calls are.
func (s *Server) openROS() (err error) {
	s.calling = rpc.NewVerifier(rpc.VerifierConfig{Now: s.config.Now, Intake: s.config.Intake})
	s.ros, err = ros.New(ros.Config{
		Engine: s.config.Engine, Rows: s.config.Store, Texts: s.config.Texts, Log: s.log, Now: s.config.Now, Drift: s.config.Drift,
		Caller: func(ctx context.Context) (ros.Caller, bool) {
			_, ok := sigv4.FromContext(ctx)
			return callerInROS(ctx), ok
		},
	})
	return err
}

// callerInROS returns the account and the ID of the caller of a ROS stack. The API of ROS and the operator API use the same.
func callerInROS(ctx context.Context) ros.Caller {
	id, _ := sigv4.FromContext(ctx)
	account := engine.ROSAccount(id.Account)
	return ros.Caller{Account: account, ID: rosCaller(account, id.Role)}
}

// rosCaller returns the ID of the caller: the account ID, or a generated user ID for a role.
func rosCaller(account, role string) string {
	if role == "" {
		return account
	}
	sum := sha256.Sum256([]byte(account + " " + role))
	return fmt.Sprintf("2%017d", binary.BigEndian.Uint64(sum[:])%100_000_000_000_000_000)
}

// enterROS serves a request that is a ROS call, or refuses it, and reports whether it did either.
func (s *Server) enterROS(w http.ResponseWriter, r *http.Request, refuse func(*query.Error)) bool {
	var holder sigv4.KeyOwner
	call, refused := s.calling.Admit(r, func(call *rpc.Call) (rpc.Secret, *rpc.Error) {
		var err error
		if holder, err = s.verifier.Find(call.AccessKeyID, call.SecurityToken, ros.RegionOf(call), "ros"); err != nil {
			return rpc.Secret{}, unknownKey(call, err)
		}
		return rpc.Secret{Text: string(holder.Secret), Any: !holder.Known}, nil
	})
	switch {
	case refused != nil:
		s.ros.WriteError(w, r, refused)
	case call != nil:
		s.connections.Verified(r.Context())
		s.take(w, r, s.calls, s.config.Timeout, refuse, func(w http.ResponseWriter, r *http.Request) {
			s.auditedROS(w, r, holder.Identity, call, func() {
				s.ros.Serve(w, r.WithContext(sigv4.WithIdentity(r.Context(), holder.Identity)), call)
			})
		})
	default:
		return false
	}
	return true
}

// unknownKey returns the ROS error for a key that is not accepted.
func unknownKey(call *rpc.Call, err error) *rpc.Error {
	refused, ok := errors.AsType[*sigv4.Error](err)
	switch {
	case ok && refused.Code == "ExpiredToken":
		return &rpc.Error{Code: "InvalidSecurityToken.Expired", Message: "Specified SecurityToken is expired."}
	case call.SecurityToken != "":
		return &rpc.Error{
			Code: "InvalidSecurityToken.MismatchWithAccessKey", Message: "Specified SecurityToken mismatch with the AccessKey.",
		}
	}
	return &rpc.Error{
		Code: "InvalidAccessKeyId.NotFound", Message: "Specified access key is not found.", Status: http.StatusNotFound,
		Recommend: "Use a key from the server's credentials file.",
	}
}

// refuseROS writes an error of the endpoint in the format of ROS.
func (s *Server) refuseROS(w http.ResponseWriter, r *http.Request, e *query.Error) {
	code := e.Code
	if code == "AccessDenied" {
		code = "Forbidden"
	}
	s.ros.WriteError(w, r, &rpc.Error{Code: code, Message: strings.TrimSpace(e.Message), Status: e.Status})
}
