/** Reads rows in the shape of RLVR-IFeval: chats, with the checker and its arguments as JSON. */
import { Columns, Message } from "@atropos/core"
import { Option, Result, Schema } from "effect"
import * as Checkers from "./Checkers.ts"
import type { Constraint } from "./Constraint.ts"

/** A text, or the first user message of a chat. */
export const prompt: Columns.Kind<string> = {
  expected: "a text, or a list of messages with a user's",
  read: (value) => {
    const userMessage = Columns.chat.read(value)?.find(({ role }) => role === "user")
    return userMessage === undefined ? undefined : Columns.text.read(Message.text(userMessage))
  }
}

const GroundTruth = Schema.Record(Schema.String, Schema.Unknown)
const decodeGroundTruth = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Union([GroundTruth, Schema.NonEmptyArray(GroundTruth)]))
)

/** The constraints of a row, or the reason if none. */
export const constraintsOf = (
  checkers: Checkers.Checkers,
  groundTruth: string
): Result.Result<ReadonlyArray<Constraint>, string> => {
  const decoded = Option.getOrUndefined(decodeGroundTruth(groundTruth))
  return decoded === undefined
    ? Result.fail(`the ground truth is not a JSON object with func_name: ${groundTruth.slice(0, 60)}`)
    : Result.all([decoded].flat().map((one) => Checkers.decode(checkers, one)))
}
