/** Lists the built-in environments, for `atropos envs` and `--env NAME`. */
import * as Addition from "../Addition.ts"
import * as AnswerFormat from "../AnswerFormat.ts"
import * as ArithmeticStories from "../ArithmeticStories.ts"
import * as Blackjack from "../games/Blackjack.ts"
import * as Command from "../connected/Command.ts"
import * as Dataset from "../Dataset.ts"
import * as Distill from "../Distill.ts"
import * as Fundamentals from "../Fundamentals.ts"
import * as Gsm8k from "../Gsm8k.ts"
import * as Harbor from "../connected/Harbor.ts"
import * as HarborListing from "../harbor/Listing.ts"
import * as Instructions from "../Instructions.ts"
import * as JsonSchema from "../JsonSchema.ts"
import * as LetterCounting from "../LetterCounting.ts"
import * as Mathematics from "../Mathematics.ts"
import * as Mcp from "../connected/Mcp.ts"
import * as Mcqa from "../Mcqa.ts"
import * as PythonEntries from "./PythonEntries.ts"
import * as OpenEnv from "../connected/OpenEnv.ts"
import * as Ocr from "../pictures/Ocr.ts"
import * as Pointing from "../pictures/Pointing.ts"
import * as Preference from "../Preference.ts"
import * as PythonTests from "../PythonTests.ts"
import * as Regex from "../Regex.ts"
import * as RewardModel from "../RewardModel.ts"
import * as Scenes from "../pictures/Scenes.ts"
import * as ServiceDesk from "../ServiceDesk.ts"
import * as SftLoader from "../SftLoader.ts"
import * as SortLetters from "../SortLetters.ts"
import * as Taxi from "../games/Taxi.ts"
import * as TextReversal from "../TextReversal.ts"
import * as TextToSql from "../TextToSql.ts"
import * as ToolCalling from "../ToolCalling.ts"
import * as ToolUse from "../ToolUse.ts"
import * as TravelPlanning from "../travel/TravelPlanning.ts"
import type { RegistryEntry } from "./RegistryEntry.ts"
import * as VqaDataset from "../pictures/VqaDataset.ts"
import * as Wordle from "../games/Wordle.ts"

export const registry = {
  "tool-use": {
    layer: ToolUse.layer,
    description:
      "questions that need a calculator, sandboxed Python and search, or written dialogues with tools, turn by turn",
    family: "tools",
    needs: ["sandbox"],
    dataLicence: "generated"
  },
  "python-tests": {
    layer: PythonTests.layer,
    description:
      "Python in a sandbox: functions under tests (own, HumanEval, MBPP) and contest programs (own, LiveCodeBench)",
    family: "code",
    needs: ["sandbox"],
    dataLicence: "this project's; HumanEval: MIT, MBPP and LiveCodeBench: CC-BY-4.0"
  },
  "text-to-sql": {
    layer: TextToSql.layer,
    description: "queries for SQLite, judged by their results: generated databases, WikiSQL, Spider or your own rows",
    family: "code",
    needs: [],
    dataLicence: "generated, or yours; WikiSQL: BSD-3-Clause, Spider: CC-BY-SA-4.0"
  },
  regex: {
    layer: Regex.layer,
    description: "regular expressions that accept some texts and reject others; hidden texts decide",
    family: "code",
    needs: [],
    dataLicence: "generated, or yours"
  },
  ...PythonEntries.entries,
  openenv: {
    layer: OpenEnv.layer,
    description: "episodes of any OpenEnv server: texts, tools, or custom functions",
    family: "servers",
    needs: ["network"],
    dataLicence: "yours"
  },
  mcp: {
    layer: Mcp.layer,
    description: "questions answered with the tools of an MCP server, over several turns",
    family: "tools",
    needs: [],
    dataLicence: "generated"
  },
  command: {
    layer: Command.layer,
    description: "any program as an agent: it calls the model through its SDK, and a second program scores it",
    family: "tools",
    needs: [],
    dataLicence: "yours"
  },
  "service-desk": {
    layer: ServiceDesk.layer,
    description: "serves a customer played by another model, with tools that act on a shop",
    family: "tools",
    needs: ["opponent"],
    dataLicence: "generated"
  },
  harbor: {
    layer: Harbor.layer,
    names: HarborListing.names,
    description: "task directories of the Harbor format: an agent in a terminal, graded by each task's own tests",
    family: "tools",
    needs: ["tasks"],
    dataLicence: "yours"
  },
  "tool-calling": {
    layer: ToolCalling.layer,
    description: "single and parallel tool calls, checked one to one against those requested",
    family: "tools",
    needs: [],
    dataLicence: "generated"
  },
  "travel-planning": {
    layer: TravelPlanning.layer,
    description:
      "journeys planned with tools over several turns, scored by F1 of calls and arguments; generated, or T1",
    family: "tools",
    needs: [],
    dataLicence: "generated, or yours"
  },
  fundamentals: {
    layer: Fundamentals.layer,
    description: "predicts direction and size of the next change in a company figure from a report",
    family: "markets",
    needs: [],
    dataLicence: "generated"
  },
  ocr: {
    layer: Ocr.layer,
    description: "amounts on receipts and words on signs, in rendered pictures",
    family: "pictures",
    needs: ["images"],
    dataLicence: "generated"
  },
  scenes: {
    layer: Scenes.layer,
    description: "pictures of simple shapes: count, colour, position",
    family: "pictures",
    needs: ["images"],
    dataLicence: "generated"
  },
  pointing: {
    layer: Pointing.layer,
    description:
      "points at things in pictures and counts them: generated, or rows of PixMo with points, boxes or masks",
    family: "pictures",
    needs: ["images"],
    dataLicence: "generated, or yours; PixMo: ODC-BY-1.0"
  },
  "vqa-dataset": {
    layer: VqaDataset.layer,
    description: "questions about pictures, from any data set with an image column",
    family: "pictures",
    needs: ["images", "download"],
    dataLicence: "yours; by default VQA-RAD: CC0-1.0"
  },
  blackjack: {
    layer: Blackjack.layer,
    description: "blackjack by Gymnasium's rules: whole hands, or alternatives for every decision",
    family: "games",
    needs: [],
    dataLicence: "generated"
  },
  taxi: {
    layer: Taxi.layer,
    description: "Gymnasium's taxi: pick up a passenger and drive to their destination",
    family: "games",
    needs: [],
    dataLicence: "generated"
  },
  wordle: {
    layer: Wordle.layer,
    description: "guess a hidden five-letter word in six tries",
    family: "games",
    needs: [],
    dataLicence: "generated"
  },
  addition: {
    layer: Addition.layer,
    description: "adds two numbers, character by character; for models trained from scratch",
    family: "characters",
    needs: [],
    dataLicence: "generated"
  },
  "arithmetic-stories": {
    layer: ArithmeticStories.layer,
    description: "word problems generated from templates, with a seed and a difficulty",
    family: "data sets",
    needs: [],
    dataLicence: "generated"
  },
  gsm8k: {
    layer: Gsm8k.layer,
    description: "grade-school math word problems (openai/gsm8k), with a symbolic check of the boxed answer",
    family: "data sets",
    needs: ["download"],
    dataLicence: "MIT"
  },
  dataset: {
    layer: Dataset.layer,
    description: "any data set, configured by columns, prompt template and weighted rewards",
    family: "data sets",
    needs: ["download"],
    dataLicence: "yours; by default GSM8K: MIT"
  },
  math: {
    layer: Mathematics.layer,
    description:
      "mathematics with a symbolic check, generated or from a data set; solutions are also judged, corrected and compared",
    family: "data sets",
    needs: [],
    dataLicence: "generated, or yours; DeepMath-103K: MIT"
  },
  mcqa: {
    layer: Mcqa.layer,
    description: "multiple choice: seven kinds of generated questions, or any data set; also character-level",
    family: "data sets",
    needs: [],
    dataLicence: "generated, or yours"
  },
  instructions: {
    layer: Instructions.layer,
    description: "verifiable instructions, generated or from RLVR-IFeval; items come back until solved",
    family: "format and instructions",
    needs: [],
    dataLicence: "generated; RLVR-IFeval: ODC-BY"
  },
  "json-schema": {
    layer: JsonSchema.layer,
    description: "JSON that matches a given schema and the request; generated, or from a data set with schemas",
    family: "format and instructions",
    needs: [],
    dataLicence: "generated, or yours"
  },
  "answer-format": {
    layer: AnswerFormat.layer,
    description: "answers in one of over 160 forms: JSON, YAML, tags, LaTeX, Markdown, phrases, reports, or your own",
    family: "format and instructions",
    needs: [],
    dataLicence: "generated, or yours"
  },
  "letter-counting": {
    layer: LetterCounting.layer,
    description: "counts letters in words and long strings, with a curriculum of ten tiers; also character-level",
    family: "format and instructions",
    needs: [],
    dataLicence: "generated"
  },
  "text-reversal": {
    layer: TextReversal.layer,
    description: "reverses a text, character by character; also for models trained from scratch",
    family: "format and instructions",
    needs: [],
    dataLicence: "generated, or yours"
  },
  preference: {
    layer: Preference.layer,
    description: "a judge model compares answers pairwise, in both orders; its position bias is measured",
    family: "preferences",
    needs: ["download", "judge"],
    dataLicence: "MIT"
  },
  "reward-model": {
    layer: RewardModel.layer,
    description: "answers scored in batches by a reward model over HTTP",
    family: "preferences",
    needs: ["download", "reward-model"],
    dataLicence: "MIT"
  },
  "sft-loader": {
    layer: SftLoader.layer,
    description: "serves rows of any data set as solved groups, for the sft loss",
    family: "data as environment",
    needs: ["download"],
    dataLicence: "MIT"
  },
  distill: {
    layer: Distill.layer,
    description: "adds a teacher's most likely tokens to the policy's answers, for the distill loss",
    family: "data as environment",
    needs: ["download", "teacher"],
    dataLicence: "MIT"
  },
  "sort-letters": {
    layer: SortLetters.layer,
    description: "sorts the letters of a word; for models trained from scratch; used by npm start",
    family: "characters",
    needs: [],
    dataLicence: "generated"
  }
} as const satisfies { readonly [name: string]: RegistryEntry }
