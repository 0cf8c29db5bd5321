/**
 * Errors in a graph.
 *
 * A graph is built by code, so these are bugs in that code (or in a model's configuration), not runtime failures: the
 * builder throws them at the faulty call, and inside an Effect they are defects.
 */
import { Schema } from "effect"

/** Operands do not fit together, or an argument is out of range. */
export class ShapeError extends Schema.TaggedError<ShapeError>()("ShapeError", {
  op: Schema.String,
  /** The operands' types, such as `float32[B, 4]`. */
  operands: Schema.Array(Schema.String),
  reason: Schema.String
}) {
  override get message() {
    return `${this.op}(${this.operands.join(", ")}): ${this.reason}`
  }
}

export class GradientError extends Schema.TaggedError<GradientError>()("GradientError", {
  op: Schema.String,
  value: Schema.String,
  reason: Schema.String
}) {
  override get message() {
    return `no gradient through ${this.op} of value ${this.value}: ${this.reason}`
  }
}

export class InvalidGraph extends Schema.TaggedError<InvalidGraph>()("InvalidGraph", {
  problems: Schema.Array(Schema.String)
}) {
  override get message() {
    return `the graph cannot be run: ${this.problems.join("; ")}`
  }
}
