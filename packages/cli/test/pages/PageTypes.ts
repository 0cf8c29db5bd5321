/**
 * The blocks of TypeScript of a page, made into files: whole programs as they are, parts of one within what the page
 * says is around them.
 */
import { readFileSync } from "node:fs"
import * as PageCommands from "./PageCommands.ts"

export interface Block {
  readonly page: string
  readonly line: number
  readonly code: string
}

export const blocksOf = (page: string): ReadonlyArray<Block> => {
  const text = readFileSync(`${PageCommands.root}${page}`, "utf8")
  return Array.from(text.matchAll(/^( *)```ts\n(.*?)^\1```$/gms), ({ 1: indent = "", 2: code = "", index }) => ({
    page,
    line: text.slice(0, index).split("\n").length,
    code: code.replaceAll(new RegExp(`^${indent}`, "gm"), "")
  }))
}

/** Files of the reader's own that blocks import. */
export const beside: { readonly [name: string]: string } = {
  "express.d.ts": `declare module "express" {
  import type { RequestListener, Server } from "node:http"
  interface Application {
    use(path: string, handler: RequestListener): Application
    listen(port: number, host: string): Server
  }
  const express: () => Application
  export default express
}\n`,
  "my-agent.ts": `export declare const myAgent: (
  question: string,
  to: { readonly baseURL: string; readonly apiKey: string; readonly model: string; readonly signal: AbortSignal }
) => Promise<string>\n`
}

/** What stands before and after a part of a program, by words that it has; `within`: before its first member. */
const around: ReadonlyArray<{
  readonly has: string
  readonly before: string
  readonly within?: string
  readonly after?: string
}> = [
  {
    has: "yield* Sandbox.Sandbox",
    before: `import { Sandbox } from "@atropos/envs"
import { Effect } from "effect"
declare const program: string
export const part = Effect.gen(function* () {`,
    after: "})"
  },
  {
    has: "Recipe.of(settings",
    before: `import { Environment, Recipe } from "@atropos/core"
import { Schema } from "effect"
const settings = Environment.settings({ letters: Environment.field(Schema.Int, 4, "letters of a word") })
declare const word: string
declare const shuffled: (word: string) => string`
  },
  {
    has: "servers.tracked()",
    before: `import { Message, type ServerManager } from "@atropos/core"
import { Effect } from "effect"
declare const servers: ServerManager.ServerManager["Service"]
declare const turns: number
declare const maxTokenLength: number
declare const reply: (text: string, secret: number) => string`
  },
  {
    has: "Players.groups(",
    before: `import { Players } from "@atropos/envs"
import { Effect } from "effect"
declare const game: Players.SeatedGame<string>
declare const start: string
declare const groupSize: number
export const part = Effect.gen(function* () {`,
    after: "})"
  },
  {
    has: "Tool.make(",
    before: `import { Environment, Message, type Trajectory } from "@atropos/core"
import { Tool, Toolbox, ToolEpisode } from "@atropos/envs"
import { Effect, Schema, Stream } from "effect"
declare const prices: ReadonlyMap<string, number>
declare const outcomes: (thing: string, group: ReadonlyArray<Trajectory.Trajectory>) => ReadonlyArray<number>`,
    within: `export const layer = Environment.layer("prices", Environment.settings({}), ({ groupSize, maxTokenLength }) =>
  Effect.succeed({
items: (cursor: number) => Stream.fromIterable(Array.from(prices.keys()).slice(cursor)),`,
    after: "}))"
  },
  {
    has: "Curriculum.make(",
    before: `import { Environment, Evaluation, type Trajectory } from "@atropos/core"
import { Curriculum } from "@atropos/envs"
import { Effect, Stream } from "effect"
interface Problem { readonly level: number }
declare const problem: (index: number, level: number) => Problem
export const part = Effect.gen(function* () {`,
    after: "})"
  },
  {
    has: "Laws.permutation(",
    before: `import { it } from "@effect/vitest"
import { Laws, type Trajectory } from "@atropos/core"
import { Effect } from "effect"
declare const score: (group: ReadonlyArray<Trajectory.Trajectory>) => Effect.Effect<ReadonlyArray<number>>`
  },
  {
    has: "Environment.merge(",
    before: `import { Environment } from "@atropos/core"
import { ArithmeticStories, Gsm8k } from "@atropos/envs"`
  }
]

/** A block as a file of its own. */
export const fileOf = ({ code, line, page }: Block): { readonly name: string; readonly text: string } => {
  const frame = code.includes("import ") ? undefined : around.find(({ has }) => code.includes(has))
  const name = `${page.replaceAll(/[^\w]/g, "_")}_${line}.ts`
  const inside = frame?.within === undefined ? code : code.replace("\ncollectTrajectories:", `\n${frame.within}$&`)
  const parts = [frame?.before, inside, frame?.after, "export {}"].filter((part) => part !== undefined)
  return { name, text: parts.join("\n") }
}
