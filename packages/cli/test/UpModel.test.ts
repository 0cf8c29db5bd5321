/** `up` with a model folder of the user's, as a process of its own. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Bin from "./Bin.ts"
import * as ModelFolders from "./ModelFolders.ts"
import { up } from "./UpRun.ts"

const few = ["--batch_size", "4", "--env.group_size", "2"]

describe("atropos up --model", () => {
  it.live(
    "trains an adapter where prompt and max_token_length do not fit into the sequence, and says before what it will take",
    () =>
      Effect.gen(function* () {
        const cwd = yield* Bin.folder
        const model = yield* ModelFolders.write(`${cwd}/my-model`, "llama", { type: "BF16" })
        const words = ["--env", "arithmetic-stories", "--model", model, "--steps", "1", "--env.evaluation_items", "2"]
        const { code, stderr, stdout } = yield* up(cwd, ...words, "--env.max_token_length", "2048", ...few)
        assert.strictEqual(code, 0, stdout + stderr)
        assert.match(stdout, /arithmetic-stories-1, 1 steps in/)
        // Said as it comes, before the summary.
        assert.match(
          stderr,
          /1\/2 held-out items of arithmetic-stories before the first step, \d+ s, [\d.]+% \(\d of 1\) so far/
        )
        assert.match(stdout, /held out before the first step: [\d.]+% \(\d of 2\) solved/)
        const order = [
          /model +.*my-model, [\d,]+ parameters/,
          /trained +an adapter of rank 16: [\d,]+ parameters, learning rate 0\.001 \(for a hidden size of \d+; --lr\)/
        ]
          .concat([
            /memory +\d+\.\d GB of/,
            /measured +sampling [\d,]+, training [\d,]+ tokens\/s/,
            /a step +4 answers: /
          ])
          .map((line) => stdout.search(line))
        assert.isTrue(
          order.every((at, i) => at > (order[i - 1] ?? 0)),
          stdout
        )
        assert.isBelow(order.at(-1)!, stdout.indexOf("held-out items solved"))
        // Said once, and nothing failed for want of room.
        assert.strictEqual(stdout.split("and at most 2,048 with the prompt (seq_len)").length - 1, 1, stdout)
        assert.notMatch(stdout + stderr, /do not fit|rollout failed/)
      }).pipe(Effect.provide(NodeServices.layer))
  )
})
