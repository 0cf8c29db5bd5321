/** The text of a group as it is stored, in either form; apart from `RolloutText`, which browsers import too. */
import * as PackedGroup from "@atropos/core/PackedGroup"
import { Result } from "effect"
import * as RolloutText from "../RolloutText.ts"
import type { Payload } from "../TrajectoryStore.ts"

const decoder = new TextDecoder()

const messagesOf = ({ bytes, format }: Payload): Result.Result<unknown, unknown> =>
  format === "packed"
    ? PackedGroup.messages(bytes)
    : Result.try(() => {
        const group: unknown = JSON.parse(decoder.decode(bytes))
        return typeof group === "object" && group !== null && "messages" in group ? group.messages : undefined
      })

/** The text of a stored group; none where it cannot be read. Takes milliseconds where the group is large. */
export const payloadText = (payload: Payload): RolloutText.GroupText =>
  RolloutText.ofMessages(Result.getOrElse(messagesOf(payload), () => undefined))
