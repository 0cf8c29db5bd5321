/** What every sandbox for Python does with a program alone. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { good, holds, run, type SandboxTests, test } from "./Programs.ts"

export const suite = (it: SandboxTests) => {
  it.effect("gives a program its input and takes down what it prints and how it exits", () =>
    Effect.gen(function* () {
      const spoken = yield* run("import sys\nprint('Grüße,', input())\nsys.stderr.write('oh')", {}, "Welt\n")
      assert.deepInclude(spoken, { ending: "finished", exitCode: 0, stdout: "Grüße, Welt\n", stderr: "oh" })
      const left = yield* run("import sys\nprint('so')\nsys.exit(3)")
      assert.deepInclude(left, { ending: "failed", exitCode: 3, stdout: "so\n" })
      const failed = yield* run("def f():\n    return 1 / 0\nf()")
      assert.deepInclude(failed, { ending: "failed", exitCode: 1 })
      assert.match(failed.stderr, /line 3, in <module>[^]*line 2, in f[^]*ZeroDivisionError: division by zero/)
    })
  )

  it.effect("runs a program as the main one, with what is usually there", () =>
    Effect.gen(function* () {
      const { stdout } = yield* run(
        "import sys, time\nfrom dataclasses import dataclass\n@dataclass\nclass Point:\n    x: int\n" +
          "time.sleep(0.01)\nprint(__name__, sys.argv, Point(3))\nif __name__ == '__main__':\n    exit(0)"
      )
      assert.strictEqual(stdout, "__main__ ['program.py'] Point(x=3)\n")
    })
  )

  it.effect("ends a run at its limits of time and of output, and keeps what was printed", () =>
    Effect.gen(function* () {
      // On a machine that is slow to begin, as long as it needs for that.
      for (let timeMillis = 500; ; timeMillis *= 2) {
        const late = yield* run("print('begun', flush=True)\nwhile True:\n    pass", { timeMillis })
        assert.strictEqual(late.ending, "timeLimit")
        if (late.stdout === "begun\n") break
        assert.strictEqual(late.stdout, "")
        assert.isBelow(timeMillis, 30_000)
      }
      const loud = yield* run("while True:\n    print('loud')", { outputBytes: 1000 })
      assert.strictEqual(loud.ending, "outputLimit")
      assert.strictEqual(loud.stdout.length, 1000)
      const large = yield* run("kept = []\nwhile True:\n    kept.append(bytearray(1 << 20))")
      assert.deepInclude(large, { ending: "memoryLimit" })
    })
  )

  it.effect("bounds what a run writes to files, wherever it may write", () =>
    Effect.gen(function* () {
      const { stdout } = yield* run(
        "import os\nwritten = 0\nfor folder in ('/', '/tmp', '/dev', '/dev/shm', '/usr', '/lib', '/etc', '/proc', '/sys', '/bin'):\n" +
          "    for n in range(100):\n        try:\n            with open(os.path.join(folder, 'f%d' % n), 'wb') as file:\n" +
          "                written += file.write(b'x' * (1 << 20))\n        except OSError:\n            break\nprint(written >> 20)"
      )
      assert.isAtMost(Number(stdout), 32)
      assert.isAtLeast(Number(stdout), 16)
    })
  )

  it.effect("gives every run a world of its own", () =>
    Effect.gen(function* () {
      const leave =
        "import builtins, json, os\nbuiltins.left = json.left = 1\n" +
        "for folder in ('/', '/tmp', '/lib', '/dev'):\n    try:\n        open(folder + '/left', 'w').write('x')\n    except OSError:\n        pass"
      yield* Effect.replicateEffect(run(leave), 3)
      const look =
        "import builtins, json, os\nprint(hasattr(builtins, 'left'), hasattr(json, 'left'), " +
        "any(os.path.exists(folder + '/left') for folder in ('/', '/tmp', '/lib', '/dev')))"
      const seen = yield* Effect.replicateEffect(run(look), 3)
      assert.deepStrictEqual(
        seen.map(({ stdout }) => stdout),
        Array.from({ length: 3 }, () => "False False False\n")
      )
    })
  )

  it.effect("does the same at every run", () =>
    Effect.gen(function* () {
      const outputs = yield* Effect.replicateEffect(run("print({'a', 'b', 'c', 'd', 'e'}, hash('word'))"), 3)
      assert.strictEqual(new Set(outputs.map(({ stdout }) => stdout)).size, 1)
    })
  )

  it.effect("runs several programs at once, each with its own result", () =>
    Effect.gen(function* () {
      const numbers = Array.from({ length: 4 }, (_, index) => index)
      const outcomes = yield* Effect.forEach(
        numbers,
        (n) =>
          Effect.zip(run(`print(${n} * 11)`), test(good, [`assert double(${n}) == ${2 * n}`]), { concurrent: true }),
        { concurrency: "unbounded" }
      )
      for (const [n, [printed, tested]] of outcomes.entries()) {
        assert.strictEqual(printed.stdout, `${n * 11}\n`)
        assert.isTrue(holds(tested))
      }
    })
  )
}
