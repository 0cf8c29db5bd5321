/** Declares the settings of the environment `openenv`. */
import { Environment } from "@atropos/core"
import * as GameEnvironment from "../kit/GameEnvironment.ts"
import { Schema } from "effect"
import * as Visible from "./Visible.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))
const { evaluationItems, groupSize, maxAnswerTokens, temperature } = GameEnvironment.fields

export const settings = Environment.settings({
  groupSize,
  maxAnswerTokens,
  temperature,
  evaluationItems,
  url: Environment.field(
    Schema.String,
    "",
    "address of the OpenEnv server, such as http://localhost:8000 or https://huggingface.co/spaces/OWNER/NAME"
  ),
  mode: Environment.field(
    Schema.Literals(["auto", "text", "tools"]),
    "auto",
    "a chat of texts, or tool calls (MCP environments); auto: by the server's schema"
  ),
  observation: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    'message to the model: a field of observations, or a template such as "Board: {board}"; if unset, the field with text'
  ),
  actionField: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "field of the action for the answer; if unset, the only possible one"
  ),
  actionExtra: Environment.field(
    Schema.Record(Schema.String, Schema.Unknown),
    {},
    'constant fields of every action, such as {"kind": "guess"}'
  ),
  tag: Environment.field(
    Schema.NullOr(Schema.NonEmptyString.check(Schema.isPattern(/^[A-Za-z][\w-]*$/))),
    null,
    "tag around the action, such as answer for <answer>…</answer>; if unset, all text outside of thinking"
  ),
  instructions: Environment.field(Schema.String, "", "system prompt; with tools the task, if the server states none"),
  reset: Environment.field(
    Schema.Record(Schema.String, Schema.Unknown),
    {},
    'fields passed to reset in addition to the seed, such as {"dataset_name": "leg_counting", "size": 1}'
  ),
  seed: Environment.field(
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
    0,
    "seed of the first item; the next ones count up"
  ),
  evaluationSeed: Environment.field(
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
    1_000_000,
    "seed of the first item of evaluations"
  ),
  sameStart: Environment.field(
    Schema.Boolean,
    true,
    "whether the episodes of a group must start identically, which requires a server that respects the seed"
  ),
  hiddenFields: Environment.field(
    Schema.Array(Schema.NonEmptyString),
    Visible.hidden,
    "fields of observations and tool results that the model never sees, at any depth"
  ),
  invalidReward: Environment.field(
    Schema.Finite,
    0,
    "reward of an answer without a valid action, which ends the episode"
  ),
  maxTurns: Environment.field(positive, 50, "maximum turns of an episode"),
  maxCalls: Environment.field(positive, 50, "maximum tool calls of an episode"),
  sessions: Environment.field(positive, 64, "concurrent episodes; fewer while the server reports that it is full"),
  timeout: Environment.field(
    Schema.Finite.check(Schema.isGreaterThan(0)),
    60,
    "timeout of a server response, in seconds"
  ),
  solvedAbove: Environment.field(Schema.Finite, 0, "a score above this counts as solved")
})

export type Settings = Parameters<typeof settings.encode>[0]
