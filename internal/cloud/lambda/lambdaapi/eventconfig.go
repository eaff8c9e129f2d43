package lambdaapi

import (
	"net/http"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

type destination struct {
	Destination string `json:",omitempty"`
}

type destinations struct {
	OnSuccess destination
	OnFailure destination
}

type eventConfigInput struct {
	MaximumRetryAttempts     *int
	MaximumEventAgeInSeconds *int
	DestinationConfig        *destinations
}

// apply applies the fields that are set in the input.
func (in *eventConfigInput) apply(of *registry.EventConfig) {
	if in.MaximumRetryAttempts != nil {
		of.Retries = in.MaximumRetryAttempts
	}
	if in.MaximumEventAgeInSeconds != nil {
		of.Age = *in.MaximumEventAgeInSeconds
	}
	if in.DestinationConfig != nil {
		of.OnSuccess, of.OnFailure = in.DestinationConfig.OnSuccess.Destination, in.DestinationConfig.OnFailure.Destination
	}
}

type eventConfigOutput struct {
	FunctionArn              string
	LastModified             float64
	MaximumRetryAttempts     *int `json:",omitempty"`
	MaximumEventAgeInSeconds int  `json:",omitempty"`
	DestinationConfig        destinations
}

func eventConfigView(item registry.Item[registry.EventConfig]) eventConfigOutput {
	return eventConfigOutput{
		FunctionArn: lambda.EventConfigARN(item), LastModified: float64(item.Of.Modified.UnixMilli()) / 1000,
		MaximumRetryAttempts: item.Of.Retries, MaximumEventAgeInSeconds: item.Of.Age,
		DestinationConfig: destinations{OnSuccess: destination{item.Of.OnSuccess}, OnFailure: destination{item.Of.OnFailure}},
	}
}

// putEventConfig is PutFunctionEventInvokeConfig. It resets the fields that are missing in the input.
func (c *call) putEventConfig() (answer, error) {
	return c.setEventConfig("PutFunctionEventInvokeConfig", func(r lambda.Reference, in eventConfigInput) (registry.Item[registry.EventConfig], error) {
		var of registry.EventConfig
		in.apply(&of)
		return c.config.Functions.PutEventConfig(c.ctx, r, "", of)
	})
}

// updateEventConfig is UpdateFunctionEventInvokeConfig. It keeps the fields that are missing in the input.
func (c *call) updateEventConfig() (answer, error) {
	return c.setEventConfig("UpdateFunctionEventInvokeConfig", func(r lambda.Reference, in eventConfigInput) (registry.Item[registry.EventConfig], error) {
		return c.config.Functions.UpdateEventConfig(c.ctx, r, in.apply)
	})
}

func (c *call) setEventConfig(
	operation string, set func(lambda.Reference, eventConfigInput) (registry.Item[registry.EventConfig], error),
) (answer, error) {
	r, err := c.reference()
	if err != nil {
		return answer{}, err
	}
	in, err := decode[eventConfigInput](c, maxBody, operation)
	if err != nil {
		return answer{}, err
	}
	item, err := set(r, in)
	return answer{value: eventConfigView(item)}, err
}

func (c *call) getEventConfig() (answer, error) {
	r, err := c.reference()
	if err != nil {
		return answer{}, err
	}
	item, err := c.config.Functions.EventConfig(c.ctx, r)
	return answer{value: eventConfigView(item)}, err
}

func (c *call) deleteEventConfig() (answer, error) {
	r, err := c.reference()
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusNoContent}, c.config.Functions.RemoveEventConfig(c.ctx, r)
}

// listEventConfigs returns all configurations in one page.
func (c *call) listEventConfigs() (answer, error) {
	r, err := c.reference()
	if err != nil {
		return answer{}, err
	}
	list, err := c.config.Functions.EventConfigs(c.ctx, r)
	out := []eventConfigOutput{}
	for _, item := range list {
		out = append(out, eventConfigView(item))
	}
	return answer{value: map[string]any{"FunctionEventInvokeConfigs": out}}, err
}
