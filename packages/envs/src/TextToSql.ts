/**
 * Asks for an SQLite query that answers a question about a database.
 *
 * Score 1 if the query returns what the gold query returns, on every database of the item: rows in any order unless the
 * gold query orders them, columns in any order. Components: `executes`, `columns` (the share of the gold's columns that
 * are right) and `correct`. Generated questions come with three databases of different contents. Queries are read-only
 * and limited (`sql/SqlWorker`). An item whose gold query fails or returns nothing is unscorable. Behaviour:
 * sql_query_env of the original, which compared on one table.
 */
import { Environment, Message, ServerManager, type Trajectory } from "@atropos/core"
import * as ItemSource from "./kit/ItemSource.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import * as Thinking from "./kit/Thinking.ts"
import { Effect, FileSystem, Schema } from "effect"
import { blocksOf } from "./code/Blocks.ts"
import * as Bank from "./sql/Bank.ts"
import * as Rows from "./sql/Rows.ts"
import * as SqlVerifier from "./sql/SqlVerifier.ts"

const column = (name: string, what: string) => Environment.field(Schema.NonEmptyString, name, `column with ${what}`)
const text = Schema.NullOr(Schema.NonEmptyString)

export const settings = Environment.settings({
  ...SingleTurn.fields,
  ...ItemSource.fields("Salesforce/wikisql/train"),
  thinking: SingleTurn.thinking,
  level: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Bank.levels.length })),
    Bank.levels.length,
    "generated questions: 1: one table; 2: also groups and comparisons; 3: also two tables"
  ),
  shownRows: Environment.field(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })),
    3,
    "rows of each table that the prompt shows"
  ),
  questionField: column("question", "the question"),
  queryField: column("query", "the gold query, for rows that are not WikiSQL's"),
  contextField: Environment.field(text, null, "column with the SQL that makes the database, CREATE and INSERT"),
  databaseField: column("db_id", "the name of the database, with database_folder"),
  databaseFolder: Environment.field(
    text,
    null,
    "folder with SQLite files, NAME/NAME.sqlite or NAME.sqlite, as Spider's"
  )
})

type Item = Rows.Item

/** In bytes; a database is sent to a thread with every question. */
const maxFile = 32 * 2 ** 20

const instructions = (thinking: boolean): string =>
  `You answer questions about a database with one query for SQLite. It may only read. Give exactly the columns that are asked for.${
    thinking ? " Think between <think> and </think> first." : ""
  } Answer with one block of code, from \`\`\`sql to \`\`\`.`

/** The query of an answer: its last SQL block, else its last block without a language, else a bare query. */
const queryOf = (answer: string): string | undefined => {
  const blocks = blocksOf(answer, /^\s*(?:select|with)\b/i)
  const block =
    blocks.findLast(({ language }) => /^(?:sql(?:ite3?)?|(?:my|pl|t|p)?sql|postgres(?:ql)?)$/i.test(language)) ??
    blocks.findLast(({ language }) => language === "")
  if (block !== undefined) return block.code
  return blocks.length === 0 && /^\s*(?:select|with)\b/i.test(answer) ? answer : undefined
}

const block = (sql: string): string => `\`\`\`sql\n${sql}\n\`\`\``

const unscorable = (message: string) => new Environment.Unscorable({ message })

export const layer = Environment.layer("text-to-sql", settings, (selected) =>
  Effect.gen(function* () {
    const { level, shownRows, source, thinking } = selected
    const servers = yield* ServerManager.ServerManager
    const fs = yield* FileSystem.FileSystem
    const sqlite = yield* SqlVerifier.make()
    const { heldOut, items } =
      source === ItemSource.generated
        ? ItemSource.drawn({
            ...selected,
            draw: (random): Item => Bank.draw(random, level),
            key: ({ gold, question }) => question + gold
          })
        : yield* Rows.read(selected)

    const databasesOf = Effect.fnUntraced(function* ({ databases, file }: Item) {
      if (file === undefined) return databases
      const { size } = yield* fs.stat(file)
      if (size > maxFile) return yield* unscorable(`${file} has ${size} bytes; at most ${maxFile} are allowed`)
      return [yield* fs.readFile(file)]
    })
    const asking = SingleTurn.make(servers, selected, ({ prompt }: { readonly prompt: string }) => ({
      messages: [Message.system(instructions(thinking)), Message.user(prompt)]
    }))
    const prompted = Effect.fnUntraced(function* (item: Item) {
      const [first = ""] = yield* databasesOf(item)
      const verdict = yield* sqlite.describe(first, shownRows)
      if (verdict._tag !== "described") return yield* unscorable(`unusable database: ${verdict.problem ?? ""}`)
      return { prompt: `${verdict.schema}\n\n${item.question}` }
    })
    const judged = Effect.fnUntraced(function* (item: Item, trajectory: Trajectory.Trajectory) {
      const answer = trajectory.finishReason === "length" ? undefined : Thinking.answer(trajectory.completion, thinking)
      const query = answer === undefined ? undefined : queryOf(answer)
      if (query === undefined) return { executes: 0, columns: 0, correct: 0 }
      const verdict = yield* sqlite.judge(yield* databasesOf(item), item.gold, query)
      if (verdict._tag !== "judged") {
        return yield* unscorable(verdict._tag === "unusable" ? verdict.problem : "its database was described")
      }
      return {
        executes: verdict.executes ? 1 : 0,
        columns: verdict.columns,
        correct: verdict.isCorrect ? 1 : 0
      }
    })
    const asAnswer = (sql: string): string =>
      thinking ? `<think>I read the tables.</think>\n${block(sql)}` : block(sql)

    return {
      items,
      collectTrajectories: (item: Item) => Effect.flatMap(prompted(item), asking.train),
      score: (item: Item, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.forEach(group, (trajectory) => Effect.map(judged(item, trajectory), (rewards) => ({ rewards })), {
          concurrency: "unbounded"
        }),
      components: { weights: { executes: 0, columns: 0, correct: 1 } },
      evaluation: {
        items: heldOut,
        collectTrajectories: (item: Item) => Effect.flatMap(prompted(item), asking.evaluate),
        isCorrect: (value: number) => value === 1
      },
      label: ({ gold, question }: Item) => `${question} [${gold}]`,
      claims: {
        scoreRange: [0, 1] as const,
        gold: ({ gold }: Item) => [asAnswer(gold), asAnswer(`-- As asked\n${gold};`)],
        wrong: ({ gold }: Item) => [
          "",
          asAnswer("SELECT 1"),
          asAnswer(`SELECT 1, * FROM (${gold})`),
          asAnswer(`SELECT * FROM (${gold}) LIMIT 0`),
          asAnswer(`${gold}; ${gold}`),
          asAnswer("DROP TABLE data"),
          asAnswer("ATTACH DATABASE '/tmp/x.db' AS x"),
          asAnswer("I do not know.")
        ]
      }
    }
  })
)
