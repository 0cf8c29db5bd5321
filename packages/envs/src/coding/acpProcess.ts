/**
 * Runs an agent of the Agent Client Protocol: `node acpProcess.js PROGRAM ARGUMENTS…`, with a `Talk` on its standard
 * input. Prints the agent's answer of the last turn. Ends with 1, and why on its standard error, if the agent ended, or
 * stopped with a refusal.
 */
import * as acp from "@agentclientprotocol/sdk"
import { spawn } from "node:child_process"
import { text } from "node:stream/consumers"
import { Readable, Writable } from "node:stream"
import type { Talk } from "./Acp.ts"

interface Said {
  readonly role: "user" | "assistant"
  readonly content: string
}

const [program = "", ...args] = process.argv.slice(2)
const talk = JSON.parse(await text(process.stdin)) as Talk

/** The user's next message; empty: none. */
const next = (words: ReadonlyArray<string>, input: object): Promise<string> =>
  new Promise((resolve, reject) => {
    const [user = "", ...rest] = words
    const child = spawn(user, rest, { stdio: ["pipe", "pipe", "inherit"] })
    // It may end without having read its input.
    child.stdin.on("error", () => undefined).end(JSON.stringify(input))
    const printed = text(child.stdout)
    child.once("error", reject).once("close", (code) => {
      if (code === 0) void printed.then((message) => resolve(message.trim()), reject)
      else reject(new Error(`the user's program ended with ${code}`))
    })
  })

const converse = async (session: acp.ActiveSession): Promise<string> => {
  const messages: Array<Said> = []
  let message = talk.task
  for (let turn = 1; ; turn++) {
    const stopped = session.prompt(message)
    // Read first, so that a turn that fails is reported once.
    const [answer, { stopReason }] = await Promise.all([session.readText(), stopped])
    messages.push({ role: "user", content: message }, { role: "assistant", content: answer })
    if (stopReason === "refusal" || stopReason === "cancelled") {
      throw new Error(`the agent stopped turn ${turn}: ${stopReason}`)
    }
    if (talk.user === null || turn >= talk.maxTurns) return answer
    message = await next(talk.user, { turn, messages, stop_reason: stopReason })
    if (message === "") return answer
  }
}

const agent = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] })
const ended = new Promise<never>((_, reject) => {
  agent.once("error", reject)
  agent.once("exit", (code, signal) => reject(new Error(`the agent ended with ${code ?? signal}`)))
})

const allowed = ({ options }: acp.RequestPermissionRequest): acp.RequestPermissionResponse => {
  const option =
    options.find(({ kind }) => kind === "allow_always") ?? options.find(({ kind }) => kind === "allow_once")
  return {
    outcome: option === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId: option.optionId }
  }
}

try {
  const answer = await Promise.race([
    ended,
    acp
      .client({ name: "atropos" })
      .onRequest(acp.methods.client.session.requestPermission, ({ params }) => allowed(params))
      .connectWith(
        acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout) as ReadableStream<Uint8Array>),
        async (context) => {
          await context.request(acp.methods.agent.initialize, {
            protocolVersion: acp.PROTOCOL_VERSION,
            clientCapabilities: {}
          })
          return context.buildSession(process.cwd()).withSession(converse)
        }
      )
  ])
  console.log(answer)
} catch (cause) {
  // Its output closes before its exit code is known; one that only closes its output is ended.
  if (agent.stdout.readableEnded) setTimeout(() => agent.kill("SIGKILL"), 1000).unref()
  const reason: unknown = agent.stdout.readableEnded ? await ended.catch((own: unknown) => own) : cause
  console.error(reason instanceof Error ? reason.message : reason)
  process.exitCode = 1
}
// An agent waits for another session until then.
agent.removeAllListeners("exit")
agent.kill("SIGKILL")
