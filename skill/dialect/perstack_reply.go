package dialect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"textskill/skill"
)

// perstackFail formats an error as the original does: JSON with a name and a
// message, or the protocol's message if no tool was reached.
func perstackFail(in *call, err error) Reply {
	if errors.Is(err, errUnknown) {
		return failureReply(&Failure{Message: "MCP error -32602: Tool " + in.sent + " not found"})
	}
	if own, ok := errors.AsType[*Failure](err); ok && own.body != "" {
		return failureReply(&Failure{Message: own.body})
	}
	f := &Failure{Message: string(object("error", "Error", "message", perstackMessage(err))),
		Code: codeOf(err), Cause: err}
	return failureReply(f)
}

func perstackMessage(err error) string {
	refused, ok := errors.AsType[*skill.RefusedError](err)
	switch {
	case ok && refused.Workspace != "":
		return fmt.Sprintf(notAllowed, refused.Path, refused.Workspace)
	case ok && refused.Path != "":
		return "Access denied - " + refused.Path + ": " + refused.Reason
	}
	var pe *fs.PathError
	if special, ok := errors.AsType[*skill.NotRegularError](err); ok && errors.As(err, &pe) {
		return fmt.Sprintf("File %s is a %s. Only regular files are read and written.", pe.Path, special.Kind)
	}
	if large, ok := errors.AsType[*skill.TooLargeError](err); ok {
		return fmt.Sprintf("File %s is too large to be read at once: %d bytes, and at most %d fit. Read some of its lines with from and to.", large.Path, large.Size, large.Limit)
	}
	if message, _, ok := libuv(err); ok {
		return message
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "The call was cancelled."
	case errors.Is(err, context.DeadlineExceeded):
		return "The call took too long."
	}
	return err.Error()
}
