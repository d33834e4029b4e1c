// Written by "skill setup opencode": reports each tool call to skill, which can undo it. opencode also works without skill.
// There is only a default export, because opencode loads every export as a plugin.
import { spawn } from "node:child_process"
const bin = "PROGRAM"
const tell = (event: string, data: object) => new Promise<void>((done) => {
  try {
    const child = spawn(bin, ["hook", "opencode", "STATE"], { stdio: ["pipe", "ignore", "ignore"], timeout: 10_000 })
    child.on("error", () => done())
    child.on("close", () => done())
    child.stdin.on("error", () => done())
    child.stdin.end(JSON.stringify({ event, ...data }))
  } catch { done() }
})
const ends = ["session.idle", "session.created", "session.error"]
export default async ({ directory, worktree }: any) => ({
  "tool.execute.before": (input: any, output: any) => tell("tool.execute.before", { directory, worktree, input, output }),
  "tool.execute.after": (input: any, output: any) =>
    tell("tool.execute.after", { directory, worktree, input, output: { title: output?.title, metadata: output?.metadata } }),
  event: async ({ event }: any) => {
    if (ends.includes(event.type)) await tell(event.type, { directory, worktree, properties: event.properties })
  },
})
