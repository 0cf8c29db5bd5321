/**
 * The table `train/rollouts`: texts and scores of the newest groups, as the original's (`create_rollout_table`): the
 * first `num_rollouts_per_group_for_logging` sequences (-1: all) of each of the last `num_rollouts_to_keep` accepted
 * groups.
 *
 * A text is the decoded sequence as the trainer gets it, or the chat without a tokenizer. Texts are decoded when
 * the table is taken.
 */
import { Effect, Option } from "effect"
import type { Common } from "../definition/EnvironmentSettings.ts"
import { type Message, text } from "../trajectory/Message.ts"
import type { Recorder } from "../metrics/MetricsSink.ts"
import type { ScoredGroup } from "../trajectory/ScoredGroup.ts"
import type { TokenizerShape } from "../inference/tokenizer/Tokenizer.ts"

export interface RolloutTable {
  readonly add: (group: ScoredGroup) => void
  /** The rows since the last `take`, oldest first; None if empty. */
  readonly take: Effect.Effect<Option.Option<Rows>>
}

export interface Rows {
  readonly name: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<readonly [text: string, score: number]>
}

export interface Options {
  readonly groups: number
  readonly perGroup: number
  readonly decode: ((tokens: Int32Array) => string) | undefined
}

export const make = ({ decode, groups, perGroup }: Options): RolloutTable => {
  let newest: Array<ScoredGroup> = []

  const textOf = ({ messages, tokens }: ScoredGroup, index: number): string => {
    if (decode !== undefined) return decode(tokens[index]!)
    return (messages?.[index] ?? []).map(toText).join("\n")
  }

  return {
    add: (group) => {
      if (groups <= 0 || perGroup === 0) return
      newest.push(group)
      if (newest.length > groups) newest.shift()
    },
    take: Effect.suspend(() => {
      const taken = newest
      newest = []
      if (taken.length === 0) return Effect.succeedNone
      const cells = taken.flatMap((group) => {
        const max = perGroup < 0 ? group.tokens.length : Math.min(perGroup, group.tokens.length)
        return Array.from({ length: max }, (_, index) => ({ group, index }))
      })
      return Effect.map(
        Effect.forEach(cells, ({ group, index }) =>
          // Decoding a long sequence takes a while: yields to other fibers.
          Effect.as(Effect.yieldNow, [textOf(group, index), group.scores[index]!] as const)
        ),
        (rows) => Option.some({ name: "train/rollouts", columns: ["text", "score"], rows })
      )
    })
  }
}

/** A table according to an environment's settings; the recorder may not want tables. */
export const of = (
  { numRolloutsPerGroupForLogging, numRolloutsToKeep }: Common,
  { wantsTables }: Pick<Recorder, "wantsTables">,
  tokenizer: Option.Option<Pick<TokenizerShape, "decode">>
): RolloutTable =>
  make({
    groups: wantsTables ? numRolloutsToKeep : 0,
    perGroup: numRolloutsPerGroupForLogging,
    decode: Option.match(tokenizer, {
      onNone: () => undefined,
      onSome:
        ({ decode }) =>
        (tokens) =>
          decode(tokens)
    })
  })

const toText = (message: Message): string => `${message.role}: ${text(message)}`
