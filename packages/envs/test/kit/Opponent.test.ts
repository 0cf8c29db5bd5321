/** Another model at a seat, with servers of its own. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { text, user } from "@atropos/core/trajectory/Message"
import * as Opponent from "../../src/kit/Opponent.ts"
import * as Players from "../../src/kit/Players.ts"
import * as ServerManager from "@atropos/core/inference/ServerManager"

/** The policy asks a simulated user until it says goodbye. */
const dialogue: Players.SeatedGame<ReadonlyArray<string>> = {
  seats: 2,
  maxTurns: 6,
  toMove: (said) => (said.at(-1) === "goodbye" ? undefined : said.length % 2),
  opening: (said) => [user(said.at(-1) ?? "You are a shop's assistant.")],
  observation: (said) => said.at(-1) ?? "",
  step: (said, _, answer) => [...said, answer],
  returns: (said) => [said.at(-1) === "goodbye" ? 1 : 0, 0]
}

describe("Opponent", () => {
  it.effect("plays its seat with its instructions, and only the policy is trained", () =>
    Effect.gen(function* () {
      const opponent = yield* Opponent.required
      const instructed = Opponent.player(opponent, [{ role: "system", content: "You want bread." }])
      const { returns, state, trajectories } = yield* Players.play(dialogue, [], { players: ["policy", instructed] })
      assert.deepStrictEqual(state, ["What else?", "bread, please", "What else?", "goodbye"])
      assert.deepStrictEqual(returns, [1, 0])
      assert.isDefined(trajectories[0])
      assert.isUndefined(trajectories[1])
      assert.strictEqual((yield* opponent.metrics)["opponent/calls"], 2)
    }).pipe(
      Effect.provide(
        Layer.merge(
          ServerManager.layerScripted(["What else?"]),
          Opponent.layerScripted((request) => {
            const messages = "messages" in request ? request.messages : []
            if (!messages.some((message) => text(message) === "You want bread.")) return "who am I?"
            return messages.some(({ role }) => role === "assistant") ? "goodbye" : "bread, please"
          })
        )
      )
    )
  )

  it.effect("without one, an environment that needs it says how to name it", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Opponent.required)
      assert.include(error.message, "--opponent.base_url")
    }).pipe(Effect.provide(Opponent.layer([])))
  )
})
