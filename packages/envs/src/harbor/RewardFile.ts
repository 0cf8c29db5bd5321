/**
 * Reads a verifier's reward: `reward.json`, a flat object of numbers, or `reward.txt`, one number.
 *
 * The JSON file takes precedence, as in Harbor. Its key `reward`, if present, is the score, and the others are
 * components next to it; without that key the score is the components' sum, weighted by `reward_weights`. A missing or
 * empty file, a value that is not finite, a text or a list is no reward. Links are not followed, since an agent may
 * have influenced the programs that wrote there.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs"
import { join } from "node:path"
import { RewardComponents } from "@atropos/core"
import * as Reason from "@atropos/core/base/Reason"
import { Predicate, Result, Schema } from "effect"
import * as SessionGroup from "../agent/SessionGroup.ts"

const longest = 64 * 1024

/** The text of a small file that is not a link; undefined if missing. Throws the reason if it cannot be used. */
const textOf = (path: string): string | undefined => {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (cause) {
    if (Predicate.hasProperty(cause, "code") && cause.code === "ENOENT") return undefined
    throw cause
  }
  try {
    const status = fstatSync(file)
    if (!status.isFile() || status.size > longest) throw new Error(`it is not a file of up to ${longest} bytes`)
    const bytes = Buffer.alloc(status.size)
    return bytes.toString("utf8", 0, readSync(file, bytes, 0, status.size, 0))
  } finally {
    closeSync(file)
  }
}

const number = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

export const ofText = (text: string): Result.Result<SessionGroup.Judged, string> => {
  const value = number.test(text.trim()) ? Number(text) : Number.NaN
  return RewardComponents.isUsable(value)
    ? Result.succeed(value)
    : Result.fail(`reward.txt contains ${shown(text)}: expected one number, at most 3.4e38, such as 1 or 0.5`)
}

const parse = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Unknown))

export const ofJson = (text: string): Result.Result<SessionGroup.Judged, string> => {
  const parsed = parse(text)
  const wanted = 'expected numbers by name, such as {"reward": 1}'
  if (Result.isFailure(parsed)) return Result.fail(`reward.json contains ${shown(text)}, which is not JSON; ${wanted}`)
  if (!Predicate.isReadonlyObject(parsed.success) || Array.isArray(parsed.success)) {
    return Result.fail(`reward.json contains ${shown(text)}; ${wanted}`)
  }
  // Like in Harbor, true is 1.
  const rewards = Object.fromEntries(
    Object.entries(parsed.success).map(([name, value]) => [name, typeof value === "boolean" ? Number(value) : value])
  )
  if (Object.keys(rewards).length === 0) return Result.fail(`reward.json has no reward; ${wanted}`)
  const fault = SessionGroup.faultOf(rewards)
  if (fault !== undefined) return Result.fail(`reward.json ${fault}; ${wanted}`)
  // Checked above: an object of finite numbers.
  const components = rewards as { readonly [name: string]: number }
  const score = components["reward"]
  if (score === undefined) return Result.succeed(components)
  return Result.succeed(Object.keys(components).length === 1 ? score : { _tag: "Total", score, rewards: components })
}

const shown = (text: string): string => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)

/** The reward in the folder of a verifier's logs, or the reason if none. */
export const read = (folder: string): Result.Result<SessionGroup.Judged, string> => {
  for (const [name, of] of [
    ["reward.json", ofJson],
    ["reward.txt", ofText]
  ] as const) {
    const text = Result.try({ try: () => textOf(join(folder, name)), catch: Reason.of })
    if (Result.isFailure(text)) return Result.fail(`cannot read ${name}: ${text.failure}`)
    if (text.success === undefined) continue
    return text.success.trim() === "" ? Result.fail(`${name} is empty`) : of(text.success)
  }
  const said =
    Result.getOrElse(
      Result.try(() => textOf(join(folder, "test-stdout.txt"))),
      () => undefined
    )?.trim() ?? ""
  return Result.fail(
    `the verifier wrote neither /logs/verifier/reward.json nor /logs/verifier/reward.txt${said === "" ? "" : `; its output: ${said.slice(-300)}`}`
  )
}
