/** Converts a session's failures to reasons that every dialect has an error for. */
import { Failure, type FailureReason } from "../dialect/Dialect.ts"
import type { InferenceError, InferenceFailure } from "../../inference/wire/Inference.ts"
import { TokenizerError } from "../../inference/tokenizer/Tokenizer.ts"

const reasons: { readonly [reason in InferenceFailure]: FailureReason } = {
  unreachable: "failed",
  timeout: "timeout",
  overloaded: "overloaded",
  rejected: "invalid",
  failed: "failed",
  malformed: "failed",
  unsupported: "unsupported",
  noRoom: "noRoom",
  noServer: "overloaded"
}

export const ofInference = ({ message, reason, retryAfterMillis }: InferenceError): Failure =>
  new Failure({ reason: reasons[reason], message, ...(retryAfterMillis !== undefined && { retryAfterMillis }) })

/** True if a chat template rejected the messages: the agent's mistake, not worth retrying. */
export const isRefusedByTemplate = (defect: unknown): defect is TokenizerError => defect instanceof TokenizerError

export const ofTemplate = ({ message }: TokenizerError): Failure =>
  new Failure({ reason: "invalid", param: "messages", message: `messages: ${message}` })

/** True if the servers are at fault, not the request. */
export const isOfServer = ({ reason }: InferenceError): boolean =>
  reason !== "rejected" && reason !== "unsupported" && reason !== "noRoom"
