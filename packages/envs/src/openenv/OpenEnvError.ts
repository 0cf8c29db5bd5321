/** Failures between this process and an OpenEnv server; the message names the server and how to fix it. */
import { Schema } from "effect"

export class OpenEnvError extends Schema.TaggedError<OpenEnvError>()("OpenEnvError", {
  reason: Schema.Literals([
    "address", // not an address of a server
    "unreachable", // no response
    "foreign", // the responder is not an OpenEnv server
    "capacity", // the server has its maximum of sessions
    "invalid", // it rejected an action
    "failed", // it could not perform the request
    "lost", // the connection ended in the middle of an episode
    "timeout", // no answer in time
    "settings" // the settings do not fit the server
  ]),
  message: Schema.String,
  /** For a rejected action: the fields that the server names. */
  fields: Schema.optionalKey(Schema.Array(Schema.String)),
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export type Reason = OpenEnvError["reason"]

export const make = (reason: Reason, message: string, cause?: unknown): OpenEnvError =>
  new OpenEnvError({ reason, message, ...(cause !== undefined && { cause }) })
