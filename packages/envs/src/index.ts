/** Exports the built-in environments by name; `Registry` has an entry for each. */
import "@atropos/core/base/NodeVersion"
import * as Addition from "./Addition.ts"
import * as AnswerFormat from "./AnswerFormat.ts"
import * as ArithmeticStories from "./ArithmeticStories.ts"
import * as Blackjack from "./games/Blackjack.ts"
import * as Command from "./connected/Command.ts"
import * as Dataset from "./Dataset.ts"
import * as Distill from "./Distill.ts"
import * as Fundamentals from "./Fundamentals.ts"
import * as Gsm8k from "./Gsm8k.ts"
import * as Gymnasium from "./connected/Gymnasium.ts"
import * as Harbor from "./connected/Harbor.ts"
import * as Inspect from "./connected/Inspect.ts"
import * as Instructions from "./Instructions.ts"
import * as JsonSchema from "./JsonSchema.ts"
import * as LetterCounting from "./LetterCounting.ts"
import * as Mathematics from "./Mathematics.ts"
import * as Mcp from "./connected/Mcp.ts"
import * as Mcqa from "./Mcqa.ts"
import * as OpenEnv from "./connected/OpenEnv.ts"
import * as Ocr from "./pictures/Ocr.ts"
import * as Pointing from "./pictures/Pointing.ts"
import * as Preference from "./Preference.ts"
import * as PythonTests from "./PythonTests.ts"
import * as ReasoningGym from "./connected/ReasoningGym.ts"
import * as Regex from "./Regex.ts"
import * as RewardModel from "./RewardModel.ts"
import * as Scenes from "./pictures/Scenes.ts"
import * as ServiceDesk from "./ServiceDesk.ts"
import * as SftLoader from "./SftLoader.ts"
import * as SortLetters from "./SortLetters.ts"
import * as Suite from "./suite/Suite.ts"
import * as Taxi from "./games/Taxi.ts"
import * as TextArena from "./connected/TextArena.ts"
import * as TextReversal from "./TextReversal.ts"
import * as TextToSql from "./TextToSql.ts"
import * as ToolCalling from "./ToolCalling.ts"
import * as ToolUse from "./ToolUse.ts"
import * as TravelPlanning from "./travel/TravelPlanning.ts"
import * as Verifiers from "./connected/Verifiers.ts"
import * as VqaDataset from "./pictures/VqaDataset.ts"
import * as Wordle from "./games/Wordle.ts"

export type { AgentModel as CodingAgentModel, CodingAgent } from "./coding/CodingAgent.ts"
export { codingAgent, type CodingRunOptions, type Finished } from "./command/CodingRun.ts"
export { defineAgent } from "./agent/Agent.ts"
export { defineEnvironment } from "./agent/PlainEnvironment.ts"
export type {
  AgentDefinition,
  AgentModel,
  AgentRun,
  AgentSession,
  FailedSession,
  FinishedSession
} from "./agent/AgentDefinition.ts"
export type { Collecting, PlainDefinition, Scoring } from "./agent/PlainEnvironment.ts"
export type { AskOptions, PlainModel, PlainSession } from "./agent/PlainModel.ts"
export type { Judged } from "./agent/SessionGroup.ts"

export type { Demonstration } from "./kit/ExactAnswer.ts"
export { Addition }
export { AnswerFormat }
export { ArithmeticStories }
export { Blackjack }
export { Command }
export { Dataset }
export { Distill }
export { Fundamentals }
export { Gsm8k }
export { Gymnasium }
export { Harbor }
export { Inspect }
export { Instructions }
export { JsonSchema }
export { LetterCounting }
export { Mathematics }
export { Mcp }
export { Mcqa }
export { Ocr }
export { OpenEnv }
export { Pointing }
export { Preference }
export { PythonTests }
export { ReasoningGym }
export { Regex }
export { RewardModel }
export { Scenes }
export { ServiceDesk }
export { SftLoader }
export { SortLetters }
export { Suite }
export { Taxi }
export { TextArena }
export { TextReversal }
export { TextToSql }
export { ToolCalling }
export { ToolUse }
export { TravelPlanning }
export { Verifiers }
export { VqaDataset }
export { Wordle }

export * as Budget from "./kit/Budget.ts"
export * as ChoiceAnswer from "./verify/choice/Choice.ts"
export * as Curriculum from "./kit/Curriculum.ts"
export * as Driven from "./kit/driven/DrivenEnvironment.ts"
export * as Episode from "./kit/Episode.ts"
export * as ExactAnswer from "./kit/ExactAnswer.ts"
export * as GameEnvironment from "./kit/GameEnvironment.ts"
export * as ItemQueue from "./kit/ItemQueue.ts"
export * as ItemSource from "./kit/ItemSource.ts"
export * as Judge from "./kit/Judge.ts"
export * as MathAnswer from "./verify/math/MathAnswer.ts"
export * as MathVerifier from "./verify/MathVerifier.ts"
export * as NumberAnswer from "./verify/Number.ts"
export * as Opponent from "./kit/Opponent.ts"
export * as PairwiseJudge from "./kit/PairwiseJudge.ts"
export * as Picture from "./kit/Picture.ts"
export * as PictureQuestion from "./kit/PictureQuestion.ts"
export * as QuestionThreads from "./verify/QuestionThreads.ts"
export * as Rewards from "./rewards/index.ts"
export * as Sandbox from "./sandbox/Sandbox.ts"
export * as Players from "./kit/Players.ts"
export * as SingleTurn from "./kit/SingleTurn.ts"
export * as Teacher from "./kit/Teacher.ts"
export * as TextAnswer from "./verify/Text.ts"
export * as Thinking from "./kit/Thinking.ts"
export * as Tool from "./kit/tools/Tool.ts"
export * as Toolbox from "./kit/tools/Toolbox.ts"
export * as ToolEpisode from "./kit/tools/ToolEpisode.ts"

export { registry } from "./registry/Registry.ts"
export type { Family, Listing, Need, RegistryEntry } from "./registry/RegistryEntry.ts"
