/** The text of a group as it is stored, in either form; apart from `RolloutText`, which browsers import too. */
import * as PackedGroup from "@atropos/core/service/PackedGroup"
import { Result } from "effect"
import * as RolloutText from "../../rollout/RolloutText.ts"
import type { Payload } from "../../store/TrajectoryStore.ts"

const decoder = new TextDecoder()

interface Chats {
  readonly messages?: unknown
  readonly masks?: unknown
}

const chatsOf = ({ bytes, format }: Payload): Result.Result<Chats, unknown> =>
  format === "packed"
    ? Result.map(PackedGroup.messages(bytes), (messages) => ({
        messages,
        masks: Result.getOrElse(PackedGroup.masks(bytes), () => undefined)
      }))
    : Result.try((): Chats => {
        const group: unknown = JSON.parse(decoder.decode(bytes))
        return typeof group === "object" && group !== null ? group : {}
      })

/** The text of a stored group; none where it cannot be read. Takes milliseconds where the group is large. */
export const payloadText = (payload: Payload): RolloutText.GroupText => {
  const { masks, messages } = Result.getOrElse(chatsOf(payload), (): Chats => ({}))
  return RolloutText.ofMessages(messages, masks)
}
