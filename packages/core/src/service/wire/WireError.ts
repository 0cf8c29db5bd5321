/** Errors of a body on the original's wire, in the original's form. */
import { Schema } from "effect"
import type { Detail } from "./Detail.ts"

/** An invalid body: not JSON text in UTF-8 (`unreadable`), or JSON with the errors in `details`. */
export class WireError extends Schema.TaggedError<WireError>()("WireError", {
  reason: Schema.Literals(["unreadable", "invalid"]),
  details: Schema.Array(Schema.Unknown)
}) {
  get mistakes(): ReadonlyArray<Detail> {
    // `details` consists only of Detail, from the functions that read groups and the service's request forms.
    return this.details as ReadonlyArray<Detail>
  }
  override get message(): string {
    const [first] = this.mistakes
    if (first === undefined) return "the body is not UTF-8 JSON"
    const more = this.details.length > 1 ? ` (and ${this.details.length - 1} more)` : ""
    return `${first.loc.join(".")}: ${first.msg}${more}`
  }
}
