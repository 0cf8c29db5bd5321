/**
 * Asks about a picture of simple shapes: about a number, a colour or a position. Score 1 for the answer,
 * else 0.
 *
 * `How many red circles are there?` is answered by `<answer>2</answer>`. Scenes, pictures and questions follow from the
 * seed.
 */
import { Environment, ServerManager, type Trajectory } from "@atropos/core"
import * as ItemSource from "../kit/ItemSource.ts"
import * as Picture from "../kit/Picture.ts"
import * as PictureQuestion from "../kit/PictureQuestion.ts"
import * as SingleTurn from "../kit/SingleTurn.ts"
import * as TextAnswer from "../verify/Text.ts"
import { Effect, Schema } from "effect"
import * as SceneItems from "./SceneItems.ts"

const kinds = ["count", "colour", "relation"] as const

export const settings = Environment.settings({
  ...SingleTurn.fields,
  kinds: Environment.field(
    Schema.NonEmptyArray(Schema.Literals(kinds)),
    ["count", "colour", "relation"],
    "what to ask: count, colour, relation"
  ),
  mostThings: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 3, maximum: 16 })),
    7,
    "maximum number of objects in a scene; the minimum is three"
  ),
  evaluationItems: Environment.field(Schema.Int.check(Schema.isGreaterThan(0)), 64, "held-out scenes per evaluation")
})

const judge = ({ answer }: SceneItems.Scene, completion: string) =>
  PictureQuestion.judge(completion, (reply) => TextAnswer.equivalent(answer, reply))

const tagged = (answer: string): string => `<answer>${answer}</answer>`

const otherThan: { readonly [K in SceneItems.Kind]: (answer: string) => string } = {
  count: (answer) => String(Number(answer) + 1),
  colour: (answer) => SceneItems.colours.find((colour) => colour !== answer)!,
  relation: (answer) => (answer === "yes" ? "no" : "yes")
}

export const layer = Environment.layer("scenes", settings, (selected) =>
  Effect.map(ServerManager.ServerManager, (servers) => {
    const source = ItemSource.drawn({
      seed: selected.seed,
      evaluationItems: selected.evaluationItems,
      draw: (random) => SceneItems.draw(random, selected.kinds, selected.mostThings),
      key: (scene) => SceneItems.toSvg(scene) + scene.question
    })
    const asking = PictureQuestion.make(servers, selected, (scene: SceneItems.Scene) =>
      Effect.map(Picture.render(SceneItems.toSvg(scene)), (picture) => ({ picture, question: scene.question }))
    )
    return {
      items: source.items,
      collectTrajectories: asking.train,
      score: (scene: SceneItems.Scene, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map(({ completion }) => ({ rewards: judge(scene, completion) }))),
      components: PictureQuestion.rule,
      evaluation: { items: source.heldOut, collectTrajectories: asking.evaluate },
      label: ({ question, things }: SceneItems.Scene) => `${question} (${things.length} things)`,
      claims: {
        scoreRange: [0, 1] as const,
        gold: ({ answer }: SceneItems.Scene) => [
          tagged(answer),
          `<think>${tagged("many")}</think>I see: ${tagged(` ${answer.toUpperCase()}. `)}`
        ],
        wrong: ({ answer, kind }: SceneItems.Scene) => [
          answer,
          tagged(otherThan[kind](answer)),
          tagged(answer) + tagged(otherThan[kind](answer)),
          `<think>${tagged(answer)}</think>`
        ]
      }
    }
  })
)
