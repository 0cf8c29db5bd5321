/**
 * Reports prompts that contain `undefined` or `[object Object]` although their item does not: a missing column, or an
 * object in place of a text. Training on them would otherwise raise no error.
 */
import { Message } from "@atropos/core"
import { Effect, Formatter, Predicate } from "effect"
import * as DefinitionShape from "./DefinitionShape.ts"

export interface PromptCheck {
  /** Checks the first runs; reports once. */
  readonly look: (item: unknown, messages: ReadonlyArray<Message.Message>) => Effect.Effect<void>
}

const maxRuns = 64

const marks = /\bundefined\b|\[object \w+\]/

export const make = (agent: string): PromptCheck => {
  let runs = 0
  return {
    look: (item, messages) =>
      Effect.suspend(() => {
        if (runs++ >= maxRuns) return Effect.void
        const texts = messages.flatMap((message) => {
          const text = message.role === "user" || message.role === "system" ? Message.text(message) : ""
          const mark = marks.exec(text)
          return mark === null ? [] : [{ mark: mark[0], at: mark.index, text }]
        })
        const [found] = texts
        if (found === undefined || Formatter.formatJson(item).includes(found.mark)) return Effect.void
        runs = maxRuns
        return Effect.logWarning(
          `a prompt of the agent contains "${found.mark}", unlike its item; is a column missing, or an object used as a text?`,
          {
            agent,
            prompt: found.text.slice(Math.max(0, found.at - 60), found.at + 60),
            item: Predicate.isReadonlyObject(item)
              ? `has ${Object.keys(item).join(", ")}`
              : DefinitionShape.kindOf(item)
          }
        )
      })
  }
}
