#!/usr/bin/env node
// Starts the program that npm has installed for this machine.
const { spawn } = require("node:child_process");
const target = `@textskill/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${target}/${process.platform === "win32" ? "skill.exe" : "skill"}`);
} catch {
  console.error(`textskill: the package ${target} is missing; install textskill again without --omit=optional, if it is built for this machine at all`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit", argv0: "textskill" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (err) => {
  console.error(`textskill: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
