/**
 * Answers as models write them, by kind, each with its grader, its reference and the verdict it deserves
 * (fixtures/verify/written.json).
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ChoiceAnswer, MathVerifier, NumberAnswer, Rewards, TextAnswer } from "@atropos/envs"
import written from "../fixtures/verify/written.json" with { type: "json" }

/** For a choice, also the texts of the choices. */
const Row = Schema.Struct({
  grader: Schema.Literals(["math", "number", "text", "choice"]),
  gold: Schema.String,
  said: Schema.String,
  isRight: Schema.Boolean,
  choices: Schema.optionalKey(Schema.Array(Schema.String))
})
type Row = typeof Row.Type
const readRow = Schema.decodeUnknownSync(Row)
const rowOf = ([grader, gold, said, isRight, choices]: ReadonlyArray<unknown>): Row =>
  readRow({ grader, gold, said, isRight, ...(choices !== undefined && { choices }) })

const accuracy = Rewards.accuracy()

const grade = ({ choices, gold, grader, said }: Row) => {
  switch (grader) {
    case "math":
      return Effect.map(accuracy.compute(said, { solution: gold }), (score) => score === 1)
    case "number":
      return Effect.succeed(NumberAnswer.grade(gold, said))
    case "text":
      return Effect.succeed(TextAnswer.equivalent(gold, said))
    case "choice":
      return Effect.succeed(ChoiceAnswer.grade(gold, said, choices ?? 4))
  }
}

// A deadline that no machine is too slow for.
layer(MathVerifier.layer({ deadline: "1 hour" }), { excludeTestServices: true })(
  "answers as models write them",
  (it) => {
    for (const [kind, rows] of Object.entries(written)) {
      it.effect(`${kind}: each of ${rows.length} gets its verdict`, () =>
        Effect.gen(function* () {
          const graded = yield* Effect.forEach(rows.map(rowOf), (row) =>
            Effect.map(grade(row), (isAccepted) => ({ row, isAccepted }))
          )
          assert.deepStrictEqual(
            graded.filter(({ isAccepted, row }) => isAccepted !== row.isRight),
            []
          )
        })
      )
    }
  }
)
