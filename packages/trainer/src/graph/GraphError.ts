/**
 * What is wrong with a graph.
 *
 * A graph is built by code, so all of these are mistakes of the code that builds it (or of a model's configuration) and
 * not of the run: the builder throws them at the call that makes the mistake, and inside an Effect they are defects.
 */
import { Schema } from "effect"

/** Operands do not fit together, or an argument is out of range. */
export class ShapeError extends Schema.TaggedError<ShapeError>()("ShapeError", {
  op: Schema.String,
  /** The operands' types, as `float32[B, 4]`. */
  operands: Schema.Array(Schema.String),
  reason: Schema.String
}) {
  override get message() {
    return `${this.op}(${this.operands.join(", ")}): ${this.reason}`
  }
}

/** A gradient is asked for that cannot be made. */
export class GradientError extends Schema.TaggedError<GradientError>()("GradientError", {
  op: Schema.String,
  value: Schema.String,
  reason: Schema.String
}) {
  override get message() {
    return `no gradient through ${this.op} of value ${this.value}: ${this.reason}`
  }
}

/** The graph as a whole is not one that can be run. */
export class InvalidGraph extends Schema.TaggedError<InvalidGraph>()("InvalidGraph", {
  problems: Schema.Array(Schema.String)
}) {
  override get message() {
    return `the graph cannot be run: ${this.problems.join("; ")}`
  }
}
