/** The presets by name, and those of a user's own file. */
import type { NotInstalled } from "@atropos/core/base/system/Optional"
import { Effect, Result, Schema } from "effect"
import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import * as Reason from "@atropos/core/base/Reason"
import * as Acp from "./Acp.ts"
import * as Words from "../base/Words.ts"
import { claudeCode } from "./ClaudeCode.ts"
import { codex } from "./Codex.ts"
import type { CodingAgent, Runnable } from "./CodingAgent.ts"
import { openCode } from "./OpenCode.ts"
import { pi } from "./Pi.ts"
import { qwenCode } from "./QwenCode.ts"

export const presets: ReadonlyArray<CodingAgent> = [pi, openCode, qwenCode, codex, claudeCode]

export const names: ReadonlyArray<string> = presets.map(({ name }) => name)

/** Raised if a setting names no coding agent. */
export class CodingAgentError extends Schema.TaggedError<CodingAgentError>()("CodingAgentError", {
  message: Schema.String
}) {}

const isFile = (name: string): boolean => /[./]/.test(name)

const isAgent = (value: unknown): value is CodingAgent => {
  if (typeof value !== "object" || value === null) return false
  const { args, program, shell }: { args?: unknown; program?: unknown; shell?: unknown } = value
  return typeof program === "string" && typeof args === "function" && typeof shell === "object"
}

const acp = "acp:"

/** Any program that speaks the Agent Client Protocol; its path is relative to the current folder. */
const ofCommand = Effect.fnUntraced(function* (name: string, line: string) {
  const words = Words.split(line)
  if (Result.isFailure(words)) {
    return yield* new CodingAgentError({ message: `agent: ${JSON.stringify(name)}: ${words.failure}` })
  }
  const [program = "", ...rest] = Words.located(words.success, process.cwd())
  return { name, program, install: `the program ${program}`, args: () => [], acp: rest } satisfies Runnable
})

/** A preset, or the default export of a file; with `acp:` before it, or before a command line, over that protocol. */
export const find: (name: string) => Effect.Effect<Runnable, CodingAgentError | NotInstalled> = Effect.fn(
  "CodingAgents.find"
)(function* (name: string) {
  if (!name.startsWith(acp)) return yield* named(name)
  yield* Acp.installed
  const own = name.slice(acp.length)
  const isNamed = names.includes(own) || (existsSync(resolve(own)) && /\.[cm]?[jt]s$/.test(own))
  const agent = isNamed ? yield* named(own) : yield* ofCommand(name, own)
  if (agent.acp === undefined) {
    return yield* new CodingAgentError({
      message: `agent: ${own} has no arguments for ACP: leave out "${acp}", or name a command that speaks it, as in "${acp}COMMAND --acp"`
    })
  }
  return { ...agent, ...("program" in agent.acp && agent.acp), isOverAcp: true }
})

const named = Effect.fnUntraced(function* (name: string) {
  const preset = presets.find((one) => one.name === name)
  if (preset !== undefined) return preset
  const file = resolve(name)
  if (!isFile(name) || !existsSync(file)) {
    return yield* new CodingAgentError({
      message: `agent: ${JSON.stringify(name)} is not a coding agent: use ${names.join(", ")}, or a file that exports one`
    })
  }
  const loaded = yield* Effect.tryPromise({
    // A user's module, of unknown form.
    try: () => import(pathToFileURL(file).href) as Promise<{ readonly default?: unknown }>,
    catch: (cause) => new CodingAgentError({ message: `agent: ${file} cannot be loaded: ${Reason.of(cause)}` })
  })
  if (isAgent(loaded.default)) return loaded.default
  return yield* new CodingAgentError({
    message: `agent: the default export of ${file} is not a CodingAgent (an object with program, args and shell)`
  })
})
