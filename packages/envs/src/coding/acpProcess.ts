/**
 * Runs an agent of the Agent Client Protocol: `node acpProcess.js PROGRAM ARGUMENTS…`, with a `Talk` as the first line
 * of its standard input. Prints a `Report`. Ends with 1, and why on its standard error, if the agent ended, or stopped
 * with a refusal. The end of its input cancels the turn: it then waits for the agent to stop, but not for long.
 */
import * as acp from "@agentclientprotocol/sdk"
import { spawn } from "node:child_process"
import { text } from "node:stream/consumers"
import { Readable, Writable } from "node:stream"
import { setTimeout as sleep } from "node:timers/promises"
import type { Report, Talk } from "./Acp.ts"
import * as AcpCalls from "./AcpCalls.ts"

interface Said {
  readonly role: "user" | "assistant"
  readonly content: string
}

const [program = "", ...args] = process.argv.slice(2)
const input = process.stdin.setEncoding("utf8")
const cancelled = new Promise<void>((resolve) => void input.once("end", resolve))
const talk = await new Promise<Talk>((resolve) => {
  let line = ""
  input.on("data", (part: string) => {
    line += part
    // Only `Acp` writes it.
    if (line.endsWith("\n")) resolve(JSON.parse(line) as Talk)
  })
})

const calls = AcpCalls.make()
const stopReasons: Array<string> = []
let isPrompting = false
let isCancelled = false

/** Rejects when the run is cancelled, once the turn in progress had its time to end. */
const abandoned = cancelled.then(async (): Promise<never> => {
  isCancelled = true
  if (isPrompting) await sleep(talk.cancelMillis, undefined, { ref: false })
  throw new Error("the run was cancelled")
})

/** The user's next message; empty: none. */
const next = (words: ReadonlyArray<string>, about: object): Promise<string> =>
  new Promise((resolve, reject) => {
    const [user = "", ...rest] = words
    const child = spawn(user, rest, { stdio: ["pipe", "pipe", "inherit"] })
    // It may end without having read its input.
    child.stdin.on("error", () => undefined).end(JSON.stringify(about))
    const printed = text(child.stdout)
    child.once("error", reject).once("close", (code) => {
      if (code === 0) void printed.then((message) => resolve(message.trim()), reject)
      else reject(new Error(`the user's program ended with ${code}`))
    })
  })

/** One turn: the agent's text. */
const turn = async (session: acp.ActiveSession, message: string): Promise<string> => {
  isPrompting = true
  // A turn that fails is reported once, by the next update.
  session.prompt(message).catch(() => undefined)
  let answer = ""
  for (;;) {
    const heard = await session.nextUpdate()
    if (heard.kind === "stop") {
      isPrompting = false
      calls.close(Date.now())
      // Not checked by the library.
      const reason: unknown = heard.stopReason
      stopReasons.push(String(reason))
      return answer
    }
    const { update } = heard
    if (update.sessionUpdate !== "agent_message_chunk") calls.hear(update, Date.now())
    else if (update.content.type === "text") answer += update.content.text
  }
}

const converse = async (session: acp.ActiveSession): Promise<string> => {
  const messages: Array<Said> = []
  let message = talk.task
  for (let number = 1; ; number++) {
    const answer = await turn(session, message)
    const stopReason = stopReasons.at(-1)
    messages.push({ role: "user", content: message }, { role: "assistant", content: answer })
    if (isCancelled || stopReason === "refusal" || stopReason === "cancelled") {
      throw new Error(`the agent stopped turn ${number}: ${stopReason}`)
    }
    if (talk.user === null || number >= talk.maxTurns) return answer
    message = await next(talk.user, { turn: number, messages, stop_reason: stopReason })
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
    outcome:
      option === undefined || isCancelled
        ? { outcome: "cancelled" }
        : { outcome: "selected", optionId: option.optionId }
  }
}

const talked = acp
  .client({ name: "atropos" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => allowed(params))
  .connectWith(
    acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout) as ReadableStream<Uint8Array>),
    async (context) => {
      await context.request(acp.methods.agent.initialize, {
        protocolVersion: acp.PROTOCOL_VERSION,
        clientCapabilities: {}
      })
      return context.buildSession(process.cwd()).withSession((session) => {
        const { sessionId } = session
        void cancelled
          .then(() => (isPrompting ? context.notify(acp.methods.agent.session.cancel, { sessionId }) : undefined))
          // An agent that does not hear it is ended like one that does not answer.
          .catch(() => undefined)
        return converse(session)
      })
    }
  )

let answer = ""
try {
  answer = await Promise.race([ended, abandoned, talked])
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
const report: Report = { answer: answer === "" ? "" : `${answer}\n`, calls: calls.all(Date.now()), stopReasons }
process.stdout.write(JSON.stringify(report), () => process.exit())
