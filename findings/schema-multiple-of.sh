#!/usr/bin/env bash
# Expected: {"multipleOf": 0.01} accepts 19.99, and {"multipleOf": 0.1} accepts 0.3: JSON's numbers are decimal.
# Found: half of the validators divide binary fractions and refuse both: ajv, jsonschema of Python, and the
# Go library that checks the arguments of tools in the official MCP library. 19.98 passes in all.
# Seen: jsonschema 4.26.0, fastjsonschema 2.22.3 and jsonschema-rs 0.61.0 of PyPI, ajv 8.20.0 of npm,
# github.com/google/jsonschema-go v0.4.3, github.com/santhosh-tekuri/jsonschema/v6 v6.0.3.
# It matters to tools with amounts of money: the same call is valid in one host and refused in the next.
source "$(dirname "$0")/lib/common.sh"

echo '[[0.01, 19.99], [0.01, 19.98], [0.1, 0.3]]' >rows.json
pypi jsonschema==4.26.0 fastjsonschema==2.22.3 jsonschema-rs==0.61.0
npm_packages ajv@8.20.0
cat >check.py <<'PY'
import json

import fastjsonschema
import jsonschema
import jsonschema_rs


def fast(schema, value):
    try:
        fastjsonschema.compile(schema)(value)
        return True
    except fastjsonschema.JsonSchemaValueException:
        return False


for step, value in json.load(open("rows.json")):
    schema = {"type": "number", "multipleOf": step}
    print(f"{value} of {step}: jsonschema {jsonschema.Draft202012Validator(schema).is_valid(value)},", end=" ")
    print(f"fastjsonschema {fast(schema, value)}, jsonschema-rs {jsonschema_rs.is_valid(schema, value)}")
PY
cat >check.mjs <<'JS'
import { readFileSync } from "node:fs";
import Ajv from "ajv";
for (const [step, value] of JSON.parse(readFileSync("rows.json", "utf8"))) {
  console.log(`${value} of ${step}: ajv`, new Ajv.default().validate({ type: "number", multipleOf: step }, value));
}
JS
go_program github.com/google/jsonschema-go@v0.4.3 github.com/santhosh-tekuri/jsonschema/v6@v6.0.3 <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	santhosh "github.com/santhosh-tekuri/jsonschema/v6"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	var rows [][]json.Number
	if err := json.Unmarshal(must(os.ReadFile("rows.json")), &rows); err != nil {
		panic(err)
	}
	for _, row := range rows {
		step, value := row[0], row[1]
		float := must(step.Float64())
		google := must((&jsonschema.Schema{Type: "number", MultipleOf: &float}).Resolve(nil))
		compiler := santhosh.NewCompiler()
		text := fmt.Sprintf(`{"type": "number", "multipleOf": %s}`, step)
		if err := compiler.AddResource("s.json", must(santhosh.UnmarshalJSON(strings.NewReader(text)))); err != nil {
			panic(err)
		}
		schema := must(compiler.Compile("s.json"))
		fmt.Printf("%s of %s: google/jsonschema-go %t, santhosh-tekuri/jsonschema %t\n", value, step,
			google.Validate(must(value.Float64())) == nil, schema.Validate(value) == nil)
	}
}
GO
all() {
	py check.py
	node check.mjs
	./program
}
seen all <<'OUT'
19.99 of 0.01: jsonschema False, fastjsonschema True, jsonschema-rs True
19.98 of 0.01: jsonschema True, fastjsonschema True, jsonschema-rs True
0.3 of 0.1: jsonschema False, fastjsonschema True, jsonschema-rs True
19.99 of 0.01: ajv false
19.98 of 0.01: ajv true
0.3 of 0.1: ajv false
19.99 of 0.01: google/jsonschema-go false, santhosh-tekuri/jsonschema true
19.98 of 0.01: google/jsonschema-go true, santhosh-tekuri/jsonschema true
0.3 of 0.1: google/jsonschema-go false, santhosh-tekuri/jsonschema true
OUT
