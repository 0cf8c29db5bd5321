/** Extracts text and metrics of a stored group in either format; separate from the code that browsers import too. */
import * as PackedGroup from "@atropos/core/service/PackedGroup"
import { Result } from "effect"
import type { TrajectoryApi } from "@atropos/core"
import * as GroupFigures from "../../rollout/GroupFigures.ts"
import * as RolloutText from "../../rollout/RolloutText.ts"
import type { Payload } from "../../store/TrajectoryStore.ts"

const decoder = new TextDecoder()

const numbersOf = (value: unknown): ReadonlyArray<number> =>
  Array.isArray(value) && value.every((one) => typeof one === "number") ? value : []

const sentOf = ({ bytes, format }: Payload): Result.Result<GroupFigures.Sent, unknown> =>
  format === "packed"
    ? Result.map(
        PackedGroup.decodeLabelled(bytes),
        ({ groupOverrides, inferenceLogprobs, masks, messages, overrides, scores }): GroupFigures.Sent => ({
          scores,
          masks,
          messages,
          logprobs: inferenceLogprobs,
          overrides,
          groupOverrides
        })
      )
    : Result.try((): GroupFigures.Sent => {
        const parsed: unknown = JSON.parse(decoder.decode(bytes))
        const group: { readonly [key: string]: unknown } =
          typeof parsed === "object" && parsed !== null ? { ...parsed } : {}
        return {
          scores: numbersOf(group["scores"]),
          masks: group["masks"],
          messages: group["messages"],
          logprobs: group["inference_logprobs"],
          overrides: group["overrides"],
          groupOverrides: group["group_overrides"]
        }
      })

export interface Told extends RolloutText.GroupText {
  /** Null if the group cannot be read. */
  readonly figures: TrajectoryApi.GroupFigures | null
}

/** The text of a stored group; empty if it cannot be read. Takes milliseconds for large groups. */
export const payloadText = (payload: Payload): Told => {
  const sent = Result.getOrElse(sentOf(payload), () => undefined)
  return {
    ...RolloutText.ofMessages(sent?.messages, sent?.masks),
    figures: sent === undefined ? null : GroupFigures.of(sent)
  }
}
