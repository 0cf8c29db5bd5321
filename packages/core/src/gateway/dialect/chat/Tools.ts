/**
 * Tools of a Chat Completions request. Those that a provider would run are dropped and counted (`HostedTools`).
 *
 * A `tool_choice` that forces a call is an output constraint, and must name an
 * existing tool.
 */
import { Effect, Predicate } from "effect"
import * as Normalize from "../Normalize.ts"
import { type Body, describeValue } from "./Parameters.ts"
import type { Failure } from "../Dialect.ts"
import * as HostedTools from "../HostedTools.ts"
import { invalid, unsupported } from "../OpenAiFailure.ts"
import * as OutputConstraints from "../OutputConstraints.ts"

export interface Tools {
  readonly tools: ReadonlyArray<unknown>
  readonly toolChoice: "auto" | "none"
  readonly forced: OutputConstraints.OutputConstraint | undefined
  /** Hosted tools, and `strict`, which would guarantee arguments that match a schema: the model is not constrained. */
  readonly ignored: ReadonlyArray<string>
}

const maxTools = 1024

export const read = Effect.fnUntraced(function* (body: Body): Effect.fn.Return<Tools, Failure> {
  const { tool_choice: choice = "auto", tools: input = [] } = body
  if (!Array.isArray(input)) return yield* invalid("tools", `expected a list of tools, got ${describeValue(input)}`)
  if (input.length > maxTools) return yield* invalid("tools", `at most ${maxTools}, got ${input.length}`)
  const tools: Array<unknown> = []
  const ignored = new Set<string>()
  for (const [index, one] of input.entries()) {
    const type = Predicate.isReadonlyObject(one) ? one["type"] : undefined
    if (HostedTools.isHosted(type)) {
      ignored.add(`tools.${type}`)
      continue
    }
    const { isStrict, tool } = yield* toolOf(one, `tools[${index}]`)
    tools.push(tool)
    if (isStrict) ignored.add("tools.function.strict")
  }
  const forced = yield* forcedBy(choice, tools)
  return { tools, toolChoice: choice === "none" ? "none" : "auto", forced, ignored: [...ignored] }
})

const toolOf = Effect.fnUntraced(function* (one: unknown, at: string) {
  if (!Predicate.isReadonlyObject(one)) return yield* invalid(at, `expected an object, got ${describeValue(one)}`)
  if (one["type"] !== "function") {
    return yield* unsupported(
      `${at}.type`,
      `expected function, got ${describeValue(one["type"])}: the agent runs its tools itself`
    )
  }
  const { description, name, parameters, strict } = Predicate.isReadonlyObject(one["function"]) ? one["function"] : {}
  if (typeof name !== "string" || name === "") {
    return yield* invalid(`${at}.function.name`, `expected a name, got ${describeValue(name)}`)
  }
  if (description !== undefined && description !== null && typeof description !== "string") {
    return yield* invalid(`${at}.function.description`, `expected a string, got ${describeValue(description)}`)
  }
  if (parameters !== undefined && parameters !== null && !Predicate.isReadonlyObject(parameters)) {
    return yield* invalid(`${at}.function.parameters`, `expected a JSON schema, got ${describeValue(parameters)}`)
  }
  const tool = Normalize.tool({
    name,
    ...(typeof description === "string" && { description }),
    ...(Predicate.isReadonlyObject(parameters) && { parameters })
  })
  return { tool, isStrict: strict === true }
})

const forcedBy = (
  choice: unknown,
  tools: ReadonlyArray<unknown>
): Effect.Effect<OutputConstraints.OutputConstraint | undefined, Failure> => {
  if (choice === "auto" || choice === "none") return Effect.succeed(undefined)
  const { function: called, type } = Predicate.isReadonlyObject(choice) ? choice : {}
  const name = Predicate.isReadonlyObject(called) ? called["name"] : undefined
  const isNamed = type === "function" && typeof name === "string"
  if (OutputConstraints.isAllowedTools(choice)) {
    return Effect.fail(unsupported("tool_choice", OutputConstraints.allowedToolsAdvice))
  }
  if (choice !== "required" && !isNamed) {
    return Effect.fail(
      invalid("tool_choice", `expected auto, none, required or a function, got ${describeValue(choice)}`)
    )
  }
  const named = isNamed ? name : undefined
  const problem = OutputConstraints.unforceable(tools, named)
  return problem === undefined
    ? Effect.succeed(OutputConstraints.choice("tool_choice", named))
    : Effect.fail(invalid("tool_choice", problem))
}
