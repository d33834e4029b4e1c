package agent

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// A Price is what a model costs, in US dollars per million tokens.
type Price struct {
	Input       float64  `json:"input"`
	CachedInput *float64 `json:"cachedInput"` // nil means as much as Input
	// of tokens that the provider puts into its cache; nil means as much as Input
	CacheWrite *float64 `json:"cacheWrite"`
	Output     float64  `json:"output"`
}

// Prices are prices by the beginnings of models' names, without a provider ("openai/").
// The longest one that fits a model counts; nil says that the price is not known.
type Prices map[string]*Price

// PricesDate is the day of the prices that the program knows.
const PricesDate = "2026-11-22"

// prices are list prices of the providers. Those of the setting prices come before them.
//
//go:embed prices.json
var prices []byte

// ReadPrices returns the prices that the program knows, changed and extended by the prices of
// a file of the same form, which may be empty.
func ReadPrices(file []byte) (Prices, error) {
	all := Prices{}
	for _, data := range [][]byte{prices, file} {
		if len(data) == 0 {
			continue
		}
		var some Prices
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if err := d.Decode(&some); err != nil {
			return nil, fmt.Errorf(`prices are like {"MODEL":{"input":2.5,"cachedInput":1.25,"output":10}}, in dollars per million tokens: %w`, err)
		}
		for model, price := range some {
			if price != nil && price.lowest() < 0 {
				return nil, fmt.Errorf("the price of %s holds %g; it must be at least 0", model,
					price.lowest())
			}
		}
		maps.Copy(all, some)
	}
	return all, nil
}

// lowest returns the least of the prices.
func (p Price) lowest() float64 {
	least := min(p.Input, p.Output)
	for _, cache := range []*float64{p.CachedInput, p.CacheWrite} {
		if cache != nil {
			least = min(least, *cache)
		}
	}
	return least
}

// Of returns the price of a model, nil if it is not known.
func (p Prices) Of(model string) *Price {
	price, _ := longestPrefix(p, model)
	return price
}

// longestPrefix returns the value of the longest key that a model's name begins with,
// without a provider ("openai/").
func longestPrefix[V any](table map[string]V, model string) (value V, ok bool) {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	longest := -1
	for prefix, v := range table {
		if strings.HasPrefix(name, prefix) && len(prefix) > longest {
			longest, value, ok = len(prefix), v, true
		}
	}
	return value, ok
}

// Cost returns what the tokens of a usage cost, in US dollars.
func (p Price) Cost(u Usage) float64 {
	cached, written := p.Input, p.Input
	if p.CachedInput != nil {
		cached = *p.CachedInput
	}
	if p.CacheWrite != nil {
		written = *p.CacheWrite
	}
	plain := u.InputTokens - u.CachedInputTokens - u.CacheWriteTokens
	return (float64(plain)*p.Input + float64(u.CachedInputTokens)*cached +
		float64(u.CacheWriteTokens)*written + float64(u.OutputTokens)*p.Output) / 1e6
}
