/**
 * Harbor tasks in containers: every call of Docker's command line, in its order, against a stand-in that knows no
 * others.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, type Path, Schema, type Scope } from "effect"
import * as Rolling from "../harbor/Rolling.ts"

const greet = 'printf "Hello, %s!\\n" "$(cat name.txt)" > greeting.txt'

/** Names that are drawn, by the order in which they come. */
const plain = (calls: ReadonlyArray<ReadonlyArray<string>>) => {
  const names = new Map<string, string>()
  return calls.map((words) =>
    words
      .map((word) =>
        word
          .replaceAll(/atropos-[0-9a-f]{12}/g, (name) => {
            if (!names.has(name)) names.set(name, `C${names.size + 1}`)
            return names.get(name)!
          })
          .replaceAll(/atropos-trial:\d+-[0-9a-f]{12}/g, "SNAPSHOT")
          .replaceAll(/atropos-harbor:[0-9a-f]{24}/g, "IMAGE")
          .replaceAll(/atropos\.harbor=\d+/g, "atropos.harbor=PID")
          .replaceAll(/\/tmp\/atropos-program-\w+\/work/g, "HOST")
          .replaceAll(Rolling.folder("containers"), "TASKS")
      )
      .join(" ")
      .replaceAll(/sh -c script=\$1 seconds[^]*?exec "\$@" -c "\$script" sh /g, "SHELL ")
  )
}

const suite = (name: string, run: Effect.Effect<unknown, unknown, FileSystem.FileSystem | Path.Path | Scope.Scope>) =>
  it.live(name, () => run.pipe(Effect.scoped, Effect.provide(Rolling.platform)))

describe("Harbor tasks in containers", () => {
  suite(
    "the agent's container is stopped before the tests are there, and they run in one of its files",
    Effect.gen(function* () {
      const { calls, program } = yield* Rolling.docker
      const { group } = yield* Rolling.rolledOut(
        { tasks: Rolling.folder("containers/shared"), docker: program, groupSize: 1, includeMessages: true },
        Rolling.commands(`echo $PLACE $USER; ${greet}`)
      )
      assert.deepStrictEqual(Array.from(group!.scores), [1])
      assert.deepStrictEqual(Rolling.readings(group!), ["here agent"])
      assert.deepStrictEqual(plain(calls()), [
        "version --format {{.Server.Version}}",
        'ps --all --filter label=atropos.harbor --format {{.ID}} {{.Label "atropos.harbor"}}',
        "images --filter label=atropos.harbor --format {{.ID}} {{.Repository}}:{{.Tag}}",
        "build --tag IMAGE TASKS/shared/environment",
        "run --interactive --init --name C1 --label atropos.harbor=PID --network none --cpus 2 --memory 512m --env PLACE IMAGE sh -c " +
          'echo "atropos: the container is ready"; while read -r _; do :; done',
        "exec --user root C1 SHELL mkdir -p /logs/agent /logs/verifier /logs/artifacts && chmod 777 /logs/agent /logs/verifier /logs/artifacts 60",
        "exec C1 SHELL test -e /app/name.txt 30",
        `exec --user agent C1 SHELL exec 2>&1\necho $PLACE $USER; ${greet} 60`,
        "stop --time 0 C1",
        "commit --change LABEL atropos.harbor=PID C1 SNAPSHOT",
        "run --interactive --init --name C2 --label atropos.harbor=PID --network none --cpus 2 --memory 512m --env PLACE " +
          "--volume HOST/tests:/tests --volume HOST/verifier:/logs/verifier --volumes-from C1 SNAPSHOT sh -c " +
          'echo "atropos: the container is ready"; while read -r _; do :; done',
        "exec --user root --env EXPECTED C2 SHELL chmod +x /tests/test.sh 2>/dev/null; /tests/test.sh > /logs/verifier/test-stdout.txt 2>&1; exit 0 60",
        "exec --user root C2 SHELL chmod -R a+rwX /logs/verifier /tests 60",
        "rm --force --volumes C2",
        "rmi --force SNAPSHOT",
        "rm --force --volumes C1"
      ])
    })
  )

  suite(
    "a verifier apart gets the artifacts in a container of its own, and nothing else of the agent's",
    Effect.gen(function* () {
      const { calls, program } = yield* Rolling.docker
      const { group } = yield* Rolling.rolledOut(
        { tasks: Rolling.folder("containers/separate"), docker: program, groupSize: 1 },
        Rolling.commands(greet)
      )
      assert.deepStrictEqual(Array.from(group!.scores), [1])
      const all = plain(calls())
      const from = all.findIndex((call) => call.startsWith("stop"))
      assert.deepStrictEqual(all.slice(from), [
        "stop --time 0 C1",
        "run --interactive --init --name C2 --label atropos.harbor=PID --network none --cpus 2 --memory 512m --env PLACE " +
          "--volume HOST/tests:/tests --volume HOST/verifier:/logs/verifier IMAGE sh -c " +
          'echo "atropos: the container is ready"; while read -r _; do :; done',
        "exec --user root C2 SHELL mkdir -p /logs/agent /logs/verifier /logs/artifacts && chmod 777 /logs/agent /logs/verifier /logs/artifacts 60",
        "cp C1:/app/greeting.txt HOST/artifacts/0/",
        "exec --user root C2 SHELL rm -rf -- '/app/greeting.txt'; mkdir -p -- '/app' 120",
        "cp HOST/artifacts/0/greeting.txt C2:/app/",
        "cp C1:/logs/artifacts HOST/artifacts/1/",
        "exec --user root C2 SHELL rm -rf -- '/logs/artifacts'; mkdir -p -- '/logs' 120",
        "cp HOST/artifacts/1/artifacts C2:/logs/",
        "exec --user root --env EXPECTED C2 SHELL chmod +x /tests/test.sh 2>/dev/null; /tests/test.sh > /logs/verifier/test-stdout.txt 2>&1; exit 0 60",
        "exec --user root C2 SHELL chmod -R a+rwX /logs/verifier /tests 60",
        "rm --force --volumes C2",
        "rm --force --volumes C1"
      ])
      // An image is built once for an environment.
      assert.strictEqual(all.filter((call) => call.startsWith("build")).length, 1)
    })
  )

  suite(
    "with grading separate the whole working folder is graded in an image that the agent never touched",
    Effect.gen(function* () {
      const { calls, program } = yield* Rolling.docker
      const { group } = yield* Rolling.rolledOut(
        { tasks: Rolling.folder("containers/shared"), docker: program, groupSize: 1, grading: "separate" },
        Rolling.commands(greet)
      )
      assert.deepStrictEqual(Array.from(group!.scores), [1])
      const all = plain(calls())
      assert.include(all, "image inspect --format {{.Config.WorkingDir}} IMAGE")
      assert.include(all, "cp C1:/app HOST/artifacts/0/")
      assert.isFalse(all.some((call) => call.startsWith("commit")))
    })
  )

  suite(
    "what an agent puts where tests and verdict will be is covered by them, and what runs on is ended",
    Effect.gen(function* () {
      const { program, state } = yield* Rolling.docker
      const { group } = yield* Rolling.rolledOut(
        { tasks: Rolling.folder("containers/shared"), docker: program },
        Rolling.commands(
          "ls /tests /solution",
          "mkdir -p /tests && printf '#!/bin/sh\\nexit 0\\n' > /tests/test.sh && echo 1 > /logs/verifier/reward.txt && echo '{\"reward\": 1}' > /logs/verifier/reward.json"
        )
      )
      assert.deepStrictEqual(Array.from(group!.scores), [0, 0])
      const fs = yield* FileSystem.FileSystem
      assert.deepStrictEqual(yield* fs.readDirectory(`${state}/containers`), [])
      assert.deepStrictEqual(
        (yield* fs.readDirectory(`${state}/images`)).filter((name) => name.includes("trial")),
        []
      )
    })
  )

  suite(
    "what an agent puts in the way of artifacts leads no copy into the tests, and links it leaves are not followed",
    Effect.gen(function* () {
      const { calls, program, state } = yield* Rolling.docker
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
      yield* fs.copy(Rolling.folder("containers/separate"), `${folder}/task`)
      const file = `${folder}/task/task.toml`
      const toml = yield* fs.readFileString(file)
      assert.match(toml, /^artifacts = .*$/m)
      const graded = Effect.fnUntraced(function* (artifacts: ReadonlyArray<string>, ...lines: ReadonlyArray<string>) {
        yield* fs.writeFileString(file, toml.replace(/^artifacts = .*$/m, `artifacts = ${JSON.stringify(artifacts)}`))
        const before = yield* fs.exists(`${state}/calls.jsonl`)
        const from = before ? calls().length : 0
        const { group, told } = yield* Rolling.rolledOut(
          { tasks: folder, docker: program, groupSize: 1 },
          Rolling.commands(...lines)
        )
        return { score: group?.scores[0], told, calls: plain(calls()).slice(from) }
      })
      // A folder of the first copy is a link to the tests; the second would be written through it.
      const nested = yield* graded(
        ["/app", "/app/out/test.sh"],
        'rm -rf /app/out; ln -s ../tests /app/out; printf "#!/bin/sh\\necho 1 > /logs/verifier/reward.txt\\n" > /app/x'
      )
      assert.strictEqual(nested.score, 0)
      assert.deepStrictEqual(
        nested.calls.filter((call) => /^cp C\d+:/.test(call)),
        ["cp C1:/app HOST/artifacts/0/", "cp C1:/logs/artifacts HOST/artifacts/1/"]
      )
      // An artifact that is a link to a file of this machine.
      yield* fs.writeFileString(`${folder}/secret`, "Hello, Ada!\n")
      const linked = yield* graded(["/app/greeting.txt"], `ln -s ${folder}/secret greeting.txt`)
      assert.strictEqual(linked.score, 0)
      assert.include(linked.told, "artifact not copied: it is a link")
      assert.isFalse(linked.calls.some((call) => call.startsWith("cp HOST/artifacts/0/")))
      for (const path of [
        "/",
        "/tests",
        "/tests/test.sh",
        "/logs",
        "/logs/verifier/reward.txt",
        "/app/../tests",
        "/proc/1"
      ]) {
        const { score, told } = yield* graded([path], greet)
        assert.isUndefined(score, path)
        assert.include(told, "which is not the agent's", path)
      }
    })
  )

  suite(
    "a task steers no program of this machine by its variables, its image's name, or links in what Docker reads",
    Effect.gen(function* () {
      const { calls, program, state } = yield* Rolling.docker
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
      yield* fs.copy(Rolling.folder("containers/shared"), `${folder}/task`)
      const file = `${folder}/task/task.toml`
      const toml = yield* fs.readFileString(file)
      // The stand-in is a program of Node's, which would run this.
      yield* fs.writeFileString(
        `${folder}/evil.mjs`,
        `import("node:fs").then((fs) => fs.writeFileSync("${folder}/ran", ""))`
      )
      const evil = `--import=${folder}/evil.mjs`
      yield* fs.writeFileString(
        file,
        toml.replace('PLACE = "here"', `PLACE = "here", NODE_OPTIONS = "${evil}", HTTPS_PROXY = "http://127.0.0.1:1"`)
      )
      yield* Rolling.rolledOut({ tasks: folder, docker: program, groupSize: 1 }, Rolling.commands("true"))
      const run = calls().find(([verb]) => verb === "run")!
      assert.includeMembers([...run], ["PLACE", `NODE_OPTIONS=${evil}`, "HTTPS_PROXY=http://127.0.0.1:1"])
      assert.isFalse(yield* fs.exists(`${folder}/ran`))

      yield* fs.writeFileString(file, toml.replace("[environment]", '[environment]\ndocker_image = "--privileged"'))
      const option = yield* Effect.flip(
        Rolling.rolledOut({ tasks: folder, docker: program, groupSize: 1 }, Rolling.commands("true"))
      )
      assert.match(String(option), /expected the name of an image/)

      yield* fs.writeFileString(file, toml)
      const before = (yield* fs.readFileString(`${state}/calls.jsonl`)).length
      yield* fs.symlink(folder, `${folder}/task/environment/out`)
      const { message } = Schema.decodeUnknownSync(Schema.Struct({ message: Schema.String }))(
        yield* Effect.flip(
          Rolling.rolledOut({ tasks: folder, docker: program, groupSize: 1 }, Rolling.commands("true"))
        )
      )
      assert.match(message, /environment\/out: this link points to/)
      assert.strictEqual((yield* fs.readFileString(`${state}/calls.jsonl`)).length, before)
    })
  )

  suite(
    "an image that cannot be built, pulled or started fails the item with Docker's words, and is no reward",
    Effect.gen(function* () {
      const { program } = yield* Rolling.docker
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
      yield* fs.copy(Rolling.folder("containers/shared"), `${folder}/task`)
      const told = () =>
        Effect.map(
          Rolling.rolledOut({ tasks: folder, docker: program }, Rolling.commands(greet)),
          ({ group, told }) => {
            assert.isUndefined(group)
            return told
          }
        )
      yield* fs.writeFileString(`${folder}/task/environment/Dockerfile`, "FROM scratch\nRUN false\n")
      assert.match(yield* told(), /cannot build the image of the task atropos\/shared .*did not complete/)
      const file = `${folder}/task/task.toml`
      const text = yield* fs.readFileString(file)
      yield* fs.writeFileString(file, text.replace("[environment]", '[environment]\ndocker_image = "none:1"'))
      assert.match(yield* told(), /cannot pull the image of the task atropos\/shared.*pull access denied/)
      yield* fs.writeFileString(file, text.replace("[environment]", '[environment]\ndocker_image = "known:1"'))
      // The check finds no name.txt in that image.
      assert.match(yield* told(), /is not ready: environment.healthcheck failed 3 times/)
    })
  )

  suite(
    "a daemon that does not answer is told at the start, with what can be done",
    Effect.gen(function* () {
      const failed = yield* Effect.flip(
        Rolling.rolledOut(
          {
            tasks: Rolling.folder("containers/shared"),
            docker: "sh -c 'echo Cannot connect to the daemon >&2; exit 1'"
          },
          Rolling.commands()
        )
      )
      const message = Schema.decodeUnknownSync(Schema.Struct({ message: Schema.String }))(failed).message
      assert.match(message, /no Docker daemon responds.*Cannot connect to the daemon/)
      assert.include(message, "--env.where local")
    })
  )
})
