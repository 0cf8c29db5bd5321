/**
 * Runs a service desk: the policy talks with a customer played by another model, and uses tools that act on a small
 * shop. Modelled on tau-bench (Yao et al. 2024, arXiv:2406.12045), with a generated domain.
 *
 * At the end the shop's orders must match the customer's wishes exactly, and an amount that the customer asked for must
 * have been stated: 1 for both, else 0; components: `orders` and `told`. Each turn has its own advantage by the share
 * of its calls that succeeded. The customer's messages are not trained on.
 */
import { Environment, RewardComponents, ServerManager, type Trajectory } from "@atropos/core"
import * as ItemSource from "./kit/ItemSource.ts"
import * as Opponent from "./kit/Opponent.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import * as ToolEpisode from "./kit/tools/ToolEpisode.ts"
import { Effect, Schema } from "effect"
import * as Claims from "./desk/Claims.ts"
import * as Conversation from "./desk/Conversation.ts"
import * as Wishes from "./desk/Wishes.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))

export const settings = Environment.settings({
  ...SingleTurn.fields,
  maxTurns: Environment.field(positive, 16, "answers of the policy per conversation, calls included"),
  maxSeconds: Environment.field(positive, 300, "time limit per conversation, in seconds"),
  maxAnswerTokens: Environment.field(positive, 512, "maximum tokens per answer"),
  customerTemperature: Environment.field(Environment.nonNegative, 0.7, "sampling temperature of the customer"),
  outcomeWeight: Environment.field(
    Environment.nonNegative,
    1,
    "weight of the outcome relative to the turn in token-level advantages"
  ),
  evaluationItems: Environment.field(positive, 32, "held-out conversations per evaluation")
})

interface Item extends Wishes.Task {
  readonly samplingSeed: number
}

const components: RewardComponents.Rule = { weights: { orders: 0, told: 0, complete: 1 } }

export const layer = Environment.layer("service-desk", settings, (selected) =>
  Effect.gen(function* () {
    const { customerTemperature, groupSize, maxAnswerTokens, maxSeconds, maxTokenLength, maxTurns, outcomeWeight } =
      selected
    const servers = yield* ServerManager.ServerManager
    const customer = yield* Opponent.required
    const source = ItemSource.drawn<Item>({
      ...selected,
      draw: (random, samplingSeed) => ({ ...Wishes.draw(random), samplingSeed }),
      key: ({ customer: { name }, wishes }) => name + wishes.join()
    })
    const conversations = (item: Item, count: number, split: "train" | "eval") =>
      Effect.map(
        Effect.forEach(
          Array.from({ length: count }).keys(),
          (index) =>
            Conversation.play(item, {
              customer,
              customerTemperature,
              limits: { turns: maxTurns, seconds: maxSeconds },
              maxTokens: Math.min(maxAnswerTokens, maxTokenLength),
              seed: item.samplingSeed + index,
              split,
              temperature: split === "train" ? selected.temperature : selected.evalTemperature
            }),
          { concurrency: "unbounded" }
        ),
        (played) => played.filter((one) => one !== undefined)
      ).pipe(Effect.provideService(ServerManager.ServerManager, servers))
    const rule = RewardComponents.ruleOf(selected, components)
    return {
      items: source.items,
      collectTrajectories: (item: Item) => conversations(item, groupSize, "train"),
      score: (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) => {
        const rewards = group.map((one) => {
          const { orders, told: reported } = Conversation.judge(item, one)
          return { orders, told: reported, complete: orders * reported }
        })
        return Effect.succeed(ToolEpisode.scoredParts(group, rewards, rule, { outcomeWeight }))
      },
      components,
      evaluation: { items: source.heldOut, collectTrajectories: (item: Item) => conversations(item, 1, "eval") },
      metrics: customer.metrics,
      label: ({ customer: { name }, wishes }: Item) => `${name}: ${wishes.join(" ")}`,
      claims: { scoreRange: [0, 1] as const, gold: Claims.gold, wrong: Claims.wrong }
    }
  })
)
