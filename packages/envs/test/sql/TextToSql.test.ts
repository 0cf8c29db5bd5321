import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, layer } from "@effect/vitest"
import { Dataset, Environment, Laws, SeededRandom, ServerManager, Tokenizer } from "@atropos/core"
import { TextToSql } from "@atropos/envs"
import { Effect, FileSystem, Layer, Result, Schema, Stream } from "effect"
import { DatabaseSync } from "node:sqlite"
import * as Bank from "../../src/sql/Bank.ts"
import * as SqlVerifier from "../../src/sql/SqlVerifier.ts"
import * as Table from "../../src/sql/Table.ts"
import * as WikiSql from "../../src/sql/WikiSql.ts"
import { claimsHold, firstScores, labels, lawsHold } from "../TestItems.ts"

const table = {
  header: ["Player", "No.", "Player"],
  types: ["text", "real", "text"],
  rows: [
    ["Ann O'Hara", "1,004", "x"],
    ["Bo", "7", "y"]
  ]
}
/** A column of numbers whose identifiers doubles do not tell apart, and one of more than 64 bits. */
const long = {
  header: ["Player", "Id", "Serial", "Price"],
  types: ["text", "real", "real", "real"],
  rows: [
    ["Ann", 9007199254740992n, "123456789012345678901", 0.1],
    ["Bo", 9007199254740993n, "123456789012345678902", 0.2],
    ["Cy", "9,007,199,254,740,995", "123456789012345678903", "1,234.5"]
  ]
}
const sums = { question: "What do all serials add up to?", table: long, sql: { sel: 2, agg: 4, conds: [] } }
const tables = {
  id: [{ question: "Who has it?", table: long, sql: { sel: 0, agg: 0, conds: [[1, 0, 9007199254740993n]] } }],
  largest: [{ question: "The largest id?", table: long, sql: { sel: 1, agg: 1, conds: [] } }],
  serial: [{ question: "What is Bo's?", table: long, sql: { sel: 2, agg: 0, conds: [[0, 0, "bo"]] } }],
  price: [{ question: "What do all cost?", table: long, sql: { sel: 3, agg: 4, conds: [] } }],
  wiki: [{ question: "Who has number 7?", table, sql: { sel: 0, agg: 0, conds: [[1, 0, "7"]] } }],
  struct: [
    {
      question: "What is Ann's number?",
      table,
      sql: { sel: 1, agg: 0, conds: { column_index: [0], operator_index: [0], condition: ["ann o'hara"] } }
    }
  ],
  context: [
    {
      ask: "How many?",
      query: "SELECT count(*) FROM t",
      context: "CREATE TABLE t (x INT); INSERT INTO t VALUES (1), (2);"
    }
  ],
  nothing: [{ ask: "Which?", query: "SELECT x FROM t WHERE x > 2", context: "CREATE TABLE t (x INT);" }],
  files: [
    { question: "All?", query: "SELECT x FROM t ORDER BY x", db_id: "numbers" },
    { question: "Gone?", query: "SELECT 1", db_id: "../numbers" }
  ]
}

const environment = (settings: Parameters<typeof TextToSql.layer>[0], script: ServerManager.Script = ["?"]) =>
  TextToSql.layer({ groupSize: 2, seed: 3, ...settings }).pipe(
    Layer.provide(ServerManager.layerScripted(script)),
    Layer.provide([Tokenizer.layerBytes, Dataset.layerMemory(tables), NodeServices.layer])
  )

const answer = (sql: string): string => `<think>so</think>\n\`\`\`sql\n${sql}\n\`\`\``
const live = { excludeTestServices: true }

layer(environment({ evaluationItems: 20 }), live)("TextToSql", (it) => {
  it.effect("gives the same items from any cursor on", () =>
    Effect.gen(function* () {
      const all = yield* labels(0, 12)
      assert.deepStrictEqual(all.slice(8), yield* labels(8, 4))
    })
  )
  it.effect("holds for each of a dozen items what is claimed of it", () => claimsHold(12))
  it.effect.prop("scores follow the laws of scoring", [Laws.arbitraryGroup()], ([group]) => lawsHold(group), {
    arbitrary: { runs: 5 }
  })
})

/** A result of these rows. */
const of = (...rows: ReadonlyArray<ReadonlyArray<Table.Value>>) => ({ columns: rows[0]!.length, rows })

describe("TextToSql's rows", () => {
  const scoresOf = (name: string, settings: Parameters<typeof TextToSql.layer>[0], script: ReadonlyArray<string>) =>
    it.live(name, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* firstScores, [1, 0])
      }).pipe(Effect.provide(environment({ ...settings }, script.map(answer))))
    )
  scoresOf("may be WikiSQL's", { source: "wiki", testSource: "wiki" }, [
    'SELECT "player" FROM data WHERE "No." < 10',
    'SELECT "Player 2" FROM data WHERE "No." = 7'
  ])
  scoresOf("may name integers of WikiSQL that doubles round", { source: "id", testSource: "id" }, [
    'SELECT "Player" FROM data WHERE "Id" > 9007199254740992 AND "Id" < 9007199254740994',
    'SELECT "Player" FROM data WHERE "Id" = 9007199254740992'
  ])
  scoresOf("may ask for integers of WikiSQL that doubles round", { source: "largest", testSource: "largest" }, [
    "SELECT 9007199254740995",
    "SELECT 9007199254740996"
  ])
  scoresOf("may ask for integers of WikiSQL of more than 64 bits", { source: "serial", testSource: "serial" }, [
    "SELECT '123456789012345678902'",
    "SELECT '123456789012345678903'"
  ])
  scoresOf("compare fractions of WikiSQL as such", { source: "price", testSource: "price" }, [
    "SELECT 0.1 + 0.2 + 1234.5",
    "SELECT 1234.80000001"
  ])
  it("whose query computes with integers of more than 64 bits are refused", () => {
    assert.match(String(WikiSql.made(sums).pipe(Result.flip, Result.getOrUndefined)), /computes with "Serial".*64 bits/)
  })
  scoresOf("may be WikiSQL's as the datasets library has them", { source: "struct", testSource: "struct" }, [
    "SELECT \"No.\" FROM data WHERE Player LIKE 'Ann%'",
    'SELECT "No." FROM data'
  ])
  scoresOf(
    "may bring the SQL of their databases",
    { source: "context", testSource: "context", questionField: "ask", contextField: "context" },
    ["SELECT 2", "SELECT max(x) + 1 FROM t"]
  )

  it.live("are answered by a block of any dialect's name, and of no other language", () => {
    const settings = { source: "context", testSource: "context", questionField: "ask", contextField: "context" }
    const script = ["mysql", "python"].map((language) => answer("SELECT 2").replace("```sql", `\`\`\`${language}`))
    return Effect.gen(function* () {
      assert.deepStrictEqual(yield* firstScores, [1, 0])
    }).pipe(Effect.provide(environment(settings, script)))
  })

  it.live("name a file of a folder, and no other", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const file = new DatabaseSync(`${folder}/numbers.sqlite`)
      file.exec("CREATE TABLE t (x INT); INSERT INTO t VALUES (3), (1), (2);")
      file.close()
      const script = ["SELECT x FROM t ORDER BY 1", "SELECT x FROM t ORDER BY x DESC"].map(answer)
      const settings = { source: "files", testSource: "files", databaseFolder: folder }
      yield* Effect.gen(function* () {
        assert.strictEqual(new Set(yield* labels(0, 3)).size, 1)
        assert.deepStrictEqual(yield* firstScores, [1, 0])
      }).pipe(Effect.provide(environment(settings, script)))
    }).pipe(Effect.provide(NodeServices.layer), Effect.scoped)
  )

  it.live("whose query gives nothing are unscorable: any query without rows would be right", () =>
    Effect.gen(function* () {
      const { work } = yield* Environment.Environment
      const [item] = yield* Stream.runCollect(Stream.take(work(0), 1))
      assert.match((yield* Effect.flip(item!.rollOut)).message, /gives no rows/)
    }).pipe(
      Effect.provide(
        environment(
          { source: "nothing", testSource: "nothing", questionField: "ask", contextField: "context" },
          ["SELECT x FROM t", "SELECT 1"].map(answer)
        )
      )
    )
  )
})

describe("SqlVerifier", () => {
  it.live("compares integers exactly at any length that SQLite has", () =>
    Effect.gen(function* () {
      const { judge } = yield* SqlVerifier.make({ deadline: "30 seconds", workers: 1 })
      const ids = ["1234567891", "9007199254740993", "9223372036854775807"].map(BigInt)
      for (const id of ids) {
        const database = `CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (${id}), (${id - 1n});`
        const verdict = (given: string) => judge([database], `SELECT ${id}`, given)
        assert.deepInclude(yield* verdict("SELECT max(id) FROM t"), { isCorrect: true })
        assert.deepInclude(yield* verdict("SELECT min(id) FROM t"), { executes: true, isCorrect: false })
        assert.deepInclude(yield* verdict("SELECT cast(max(id) AS text) FROM t"), { executes: true, isCorrect: false })
      }
    }).pipe(Effect.scoped)
  )

  const database = "CREATE TABLE t (x INT, y TEXT); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (2, 'b');"
  const gold = "SELECT x, y FROM t"

  it.live("answers what a query is, and no query does more than read, or without end", () =>
    Effect.gen(function* () {
      const { judge } = yield* SqlVerifier.make({ deadline: "1 hour", workers: 1 })
      const endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT"
      for (const hostile of [
        `${endless} count(*) FROM r`,
        `${endless} n FROM r`,
        `${endless} zeroblob(900000) FROM r`,
        "SELECT randomblob(1000000000)",
        "SELECT printf('%.*c', 900000000, 'x')",
        "SELECT load_extension('/tmp/x')",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('/tmp/x', 'y')",
        "ATTACH DATABASE '/etc/passwd' AS p",
        "ATTACH DATABASE ':memory:' AS p",
        "PRAGMA user_version = 3",
        "PRAGMA table_info(t)",
        "VACUUM INTO '/tmp/x.db'",
        "INSERT INTO t VALUES (3, 'c')",
        "UPDATE t SET x = 9",
        "DELETE FROM t",
        "DROP TABLE t",
        "CREATE TEMP TABLE u AS SELECT 1",
        "BEGIN",
        `${gold}; ${gold}`,
        "",
        "-- nothing",
        `SELECT ${"(".repeat(20_000)}1`,
        Array.from({ length: 200 }, () => "SELECT 1").join(" UNION ALL "),
        "SELECT like(printf('%.*c', 5000, '%a'), printf('%.*c', 50000, 'a'))"
      ]) {
        const verdict = yield* judge([database], gold, hostile)
        assert.strictEqual(verdict._tag, "judged", hostile)
        assert.isFalse(verdict._tag === "judged" && verdict.executes, hostile.slice(0, 80))
      }
      const verdict = yield* judge([database], gold, "SELECT y, x FROM t")
      assert.deepStrictEqual(verdict, { _tag: "judged", executes: true, columns: 1, isCorrect: true })
      const tied = "INSERT INTO t VALUES (1, 'c');"
      const ranked = (query: string) => judge([database + tied], `${gold} ORDER BY x`, query)
      assert.deepInclude(yield* ranked(`${gold} ORDER BY x, y DESC`), { isCorrect: true })
      assert.deepInclude(yield* ranked(`${gold} ORDER BY y`), { isCorrect: false })
      const part = yield* judge([database], gold, "SELECT x, 5 FROM t")
      assert.deepStrictEqual(part, { _tag: "judged", executes: true, columns: 0.5, isCorrect: false })
    }).pipe(Effect.scoped)
  )

  it.live("every generated question has an answer on each of its databases, and no constant one", () =>
    Effect.gen(function* () {
      const { judge } = yield* SqlVerifier.make()
      for (let index = 0; index < 24; index++) {
        const { databases, gold, question } = Bank.draw(SeededRandom.seeded(5, index), 3)
        const right = yield* judge(databases, gold, gold)
        assert.deepStrictEqual(right, { _tag: "judged", executes: true, columns: 1, isCorrect: true }, question)
        // What the gold query gives on the first database, said by heart.
        const first = new DatabaseSync(":memory:")
        first.exec(databases[0]!)
        const rows = first
          .prepare(gold)
          .all()
          .map((row) => Object.values(row))
        first.close()
        const said = rows.map(
          (row) => `(${row.map((one) => (typeof one === "string" ? `'${one}'` : String(one))).join()})`
        )
        const learnt = yield* judge(databases, gold, `SELECT * FROM (VALUES ${said.join()})`)
        assert.isFalse(learnt._tag === "judged" && learnt.isCorrect, question)
      }
    }).pipe(Effect.scoped)
  )
})

describe("results", () => {
  const cell = Schema.Union([Schema.Null, Schema.Literals(["a", "b", "", "1"]), Schema.Literals([1, 0, 2.5])])
  const some = Schema.Array(Schema.Tuple([cell, cell, cell]))

  it.prop("are the same in any order of rows and columns", [some, Schema.Natural], ([rows, seed]) => {
    const random = SeededRandom.seeded(seed, 0)
    const order = random.shuffle([0, 1, 2])
    const wanted = { columns: 3, rows }
    const given = { columns: 3, rows: random.shuffle(rows).map((row) => order.map((at) => row[at]!)) }
    assert.isTrue(Table.areEqual(wanted, given, false))
    assert.strictEqual(Table.columnShare(wanted, given), 1)
    assert.isFalse(Table.areEqual(wanted, { columns: 3, rows: [...rows, [9, 9, 9]] }, false))
  })

  it("are rows, not columns by themselves; how often one is there counts, and NULL is nothing else", () => {
    assert.isFalse(Table.areEqual(of([1, "a"], [2, "b"]), of([1, "b"], [2, "a"]), false))
    assert.isFalse(Table.areEqual(of([1], [1], [2]), of([1], [2], [2]), false))
    assert.isFalse(Table.areEqual(of([null]), of([""]), false))
    assert.isFalse(Table.areEqual(of([1]), of(["1"]), false))
    assert.isTrue(Table.areEqual(of([1 / 3]), of([0.333333333333]), false))
    assert.isTrue(Table.areEqual(of([1234567891]), of([1234567891.0000002]), false))
    assert.isFalse(Table.areEqual(of([1234567891]), of([1234567892]), false))
    assert.isFalse(Table.areEqual(of([123456789.1]), of([123456789.2]), false))
    assert.isFalse(Table.areEqual(of([6.626e-34]), of([1.602e-19]), false))
    assert.isFalse(Table.areEqual(of([2e-13]), of([0]), false))
    assert.isFalse(Table.areEqual(of([2e-13]), of([-2e-13]), false))
    assert.isTrue(Table.areEqual(of([0.1 * 3e-19]), of([3e-20]), false))
    assert.isTrue(Table.areEqual(of([0]), of([-0]), false))
    assert.isFalse(Table.areEqual(of([9007199254740993n]), of([9007199254740992]), false))
    assert.isFalse(Table.areEqual(of([9007199254740993n]), of(["9007199254740993"]), false))
    assert.isTrue(Table.areEqual(of([9007199254740993n]), of([9007199254740993n]), false))
    assert.isFalse(Table.areEqual(of([1], [2]), of([2], [1]), true))
    assert.isTrue(Table.areEqual(of(Array(12).fill(1)), of(Array(12).fill(1)), true))
  })

  it("may break ties differently where they have the columns that the query orders by", () => {
    const wanted = of([1, "b"], [1, "a"], [2, "c"])
    assert.isTrue(Table.areEqual(wanted, of([1, "a"], [1, "b"], [2, "c"]), [0]))
    assert.isTrue(Table.areEqual(wanted, of(["a", 1], ["b", 1], ["c", 2]), [0]))
    assert.isFalse(Table.areEqual(wanted, of([2, "c"], [1, "a"], [1, "b"]), [0]))
    assert.isFalse(Table.areEqual(wanted, of([1, "a"], [1, "a"], [2, "c"]), [0]))
    assert.isFalse(Table.areEqual(wanted, of([1, "a"], [1, "b"], [2, "c"]), [0, 1]))
    const names = ["x", "No.", "y", "y"]
    const orders: ReadonlyArray<readonly [end: string, order: Table.Order]> = [
      ["", false],
      ["ORDER BY x", [0]],
      ['ORDER BY "no." DESC, X asc nulls last;', [1, 0]],
      ["ORDER BY 2, `x`", [1, 0]],
      ...["y", "z", "lower(x)", "t.x", "x + 1", "x COLLATE NOCASE", "x LIMIT 3", "5", "0", "'x'"].map(
        (by) => [`ORDER BY ${by}`, true] as const
      )
    ]
    for (const [end, order] of orders)
      assert.deepStrictEqual(Table.orderOf(`SELECT * FROM t ${end}`, names), order, end)
  })

  it("have an order where the query says so, outside of brackets, texts and comments", () => {
    assert.isTrue(Table.orderOf("select x from t\nORDER  BY x desc limit 3", ["x"]))
    for (const sql of [
      "select * from (select x from t order by x)",
      "select ' order by ' from t",
      'select "order by" from t -- order by x',
      "select x over (order by y) from t"
    ])
      assert.isFalse(Table.orderOf(sql, ["x"]), sql)
  })
})
