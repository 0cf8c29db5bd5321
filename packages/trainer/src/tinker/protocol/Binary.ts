/** Binary messages as bytes, and bytes as messages: what is no message is a `WireError`. */
import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf"
import { Effect } from "effect"
import { WireError } from "./WireError.ts"

/** No field of a message is dropped: what is not known goes along. */
export const decode = <Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
  what: string
): Effect.Effect<MessageShape<Desc>, WireError> =>
  Effect.try({
    try: () => fromBinary(schema, bytes),
    catch: (cause) => new WireError({ message: `${what} of ${bytes.length} bytes cannot be read`, cause })
  })

export const encode = <Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): Uint8Array =>
  toBinary(schema, message)
