/** How lines that are to be typed are spelled, for each way in which the command can have been called. */
import { assert, describe, it } from "@effect/vitest"
import * as CommandLine from "../../src/base/CommandLine.ts"

const script = "/usr/lib/node_modules/@atropos/cli/bin/atropos.js"
const links = new Map([
  ["/usr/bin/atropos", script],
  ["/opt/other/atropos", "/opt/other/lib/atropos.js"]
])
const spelling = (env: Record<string, string>, isCheckout = false) =>
  CommandLine.spelling({ env, isCheckout, script, real: (path) => links.get(path) })

describe("a line that starts the command again", () => {
  it("names the package, never the bare name that npm knows as somebody else's", () => {
    assert.strictEqual(spelling({ PATH: "/bin" }), "npx @atropos/cli")
    assert.strictEqual(spelling({}), "npx @atropos/cli")
    assert.strictEqual(spelling({ npm_command: "exec", npm_lifecycle_event: "npx" }), "npx @atropos/cli")
    // npm puts its own folders in front of the PATH, so that a name found there says nothing.
    assert.strictEqual(spelling({ npm_command: "exec", PATH: "/usr/bin" }), "npx @atropos/cli")
  })

  it("is the bare name where the shell finds this installation under it, and nothing before it", () => {
    assert.strictEqual(spelling({ PATH: "/bin:/usr/bin" }), "atropos")
    assert.strictEqual(spelling({ PATH: "/opt/other:/usr/bin" }), "npx @atropos/cli")
  })

  it("is the checkout's own script where that was run, and no other project's script of that name", () => {
    const npm = { npm_command: "run", npm_lifecycle_event: "start", npm_package_name: "atropos", PATH: "/usr/bin" }
    assert.strictEqual(spelling(npm, true), "npm run atropos --")
    assert.strictEqual(spelling({ ...npm, npm_lifecycle_event: "atropos" }, true), "npm run atropos --")
    assert.strictEqual(spelling({ ...npm, npm_lifecycle_event: "test" }, true), "npx @atropos/cli")
    assert.strictEqual(spelling({ ...npm, npm_package_name: "my-app" }), "npx @atropos/cli")
  })

  it("holds the words behind it", () => {
    assert.match(
      CommandLine.of("serve --env gsm8k"),
      /(atropos|npm run atropos --|npx @atropos\/cli) serve --env gsm8k$/
    )
    assert.notMatch(CommandLine.of("serve"), /npx atropos/)
  })
})
