/** What commands say at their end of scores that nothing could be learned from. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as NoSignal from "../../src/job/NoSignal.ts"
import * as Tally from "../../src/job/Tally.ts"
import * as InProcess from "../InProcess.ts"

const tokens = { trainedTokens: 1, tokens: 2 }
const sum = (...tallies: ReadonlyArray<Tally.Tally>): Tally.Tally => tallies.reduce(Tally.add, Tally.empty)
const zeros = (more: Partial<Tally.Scored> = {}) => Tally.ofGroup({ scores: [0, 0], ...tokens, ...more })

layer(NodeServices.layer, { excludeTestServices: true })("scores without a learning signal", (it) => {
  it.effect("are explained at the end of process and of evaluate, with the setting to change", () =>
    Effect.gen(function* () {
      yield* InProcess.folder
      const rolled = yield* InProcess.run(["process", "--env", "text-reversal", "--testing", "--no-html"])
      assert.strictEqual(rolled.code, 0, rolled.stderr)
      assert.match(
        rolled.stderr,
        /all scores within each of the 20 groups are equal \(mean 0\.0000\).*\n.*thinking false/
      )
      const evaluated = yield* InProcess.run(["evaluate", "--env", "text-reversal", "--testing"])
      assert.strictEqual(evaluated.code, 0, evaluated.stderr)
      assert.match(evaluated.stderr, /all 200 items have the same score \(0\.0000\).*\n.*--env\.thinking false/)
    })
  )

  it("have their causes in the answers and the settings", () => {
    const cut = NoSignal.ofGroups(sum(zeros({ truncated: 2 }), zeros()), "f", { max_token_length: 64 })
    assert.match(cut!, /50% of the answers were truncated: raise --env\.max_token_length \(64\)/)
    assert.notInclude(NoSignal.ofGroups(zeros(), "f", { thinking: false })!, "thinking")
    assert.include(NoSignal.ofGroups(zeros(), "f", { temperature: 0 })!, "--env.temperature 1")
    const single = (unparsed: Tally.Share) => Tally.ofGroup({ scores: [0], unparsed, ...tokens })
    const unparsed = NoSignal.ofItems(sum(single([1, 1]), single([1, 1])), "f", { temperature: 0 })
    assert.include(unparsed!, "no answer could be parsed in 100%")
    // Greedy answers are what an evaluation asks for.
    assert.notInclude(unparsed!, "--env.temperature")
    const solved = Tally.ofGroup({ scores: [1, 1], passes: 2, ...tokens })
    assert.match(NoSignal.ofGroups(sum(solved, solved), "f", {})!, /Every answer is right: choose harder items$/)
    assert.isUndefined(NoSignal.ofItems(sum(solved, solved), "f", {}))
  })

  it("are not claimed where any group or item differs, or there is one item or none", () => {
    const mixed = Tally.ofGroup({ scores: [0, 1], ...tokens })
    assert.isUndefined(NoSignal.ofGroups(sum(zeros(), mixed), "f", {}))
    assert.isUndefined(NoSignal.ofGroups(Tally.ofGroup({ scores: [0], ...tokens }), "f", {}))
    assert.isUndefined(NoSignal.ofGroups(Tally.empty, "f", {}))
    assert.isUndefined(NoSignal.ofItems(sum(zeros(), mixed), "f", {}))
    assert.isUndefined(NoSignal.ofItems(zeros(), "f", {}))
  })

  it("are explained by serve if it sent no group", () => {
    const served = {
      environment: "e",
      step: 0,
      evaluations: 0,
      groupsSent: 0,
      duplicates: 0,
      dropped: { identical_scores: 3 },
      items: { succeeded: 3 },
      answers: { total: 12, truncated: 9 }
    }
    const text = NoSignal.ofServing(served, { max_token_length: 64 })
    assert.match(text!, /^no group was sent: .* 3 groups are equal.*\n.*75% of the answers were truncated/)
    assert.isUndefined(NoSignal.ofServing({ ...served, groupsSent: 1 }, {}))
    assert.isUndefined(NoSignal.ofServing({ ...served, dropped: { too_short: 3 } }, {}))
  })
})
