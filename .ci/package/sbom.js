#!/usr/bin/env node
// Writes the software bill of materials of a Go program, CycloneDX 1.6, from the modules
// that the Go linker recorded in it.
// usage: VERSION=… SOURCE_DATE_EPOCH=… sbom.js PROGRAM >FILE
const { execFileSync } = require("node:child_process");
const info = JSON.parse(execFileSync("go", ["version", "-m", "-json", process.argv[2]]));
const component = (type, name, version) => {
  const purl = `pkg:golang/${encodeURI(name)}@${version}`;
  return { type, "bom-ref": purl, name, version, purl };
};
const program = component("application", info.Main.Path, process.env.VERSION);
const modules = (info.Deps || []).map((m) => m.Replace || m).map((m) => component("library", m.Path, m.Version));
modules.push(component("library", "std", info.GoVersion.replace(/^go/, "")));
console.log(JSON.stringify({
  bomFormat: "CycloneDX",
  specVersion: "1.6",
  version: 1,
  metadata: { timestamp: new Date(process.env.SOURCE_DATE_EPOCH * 1000).toISOString(), component: program },
  components: modules,
  dependencies: [{ ref: program["bom-ref"], dependsOn: modules.map((m) => m["bom-ref"]) }],
}, null, 2));
