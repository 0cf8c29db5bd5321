import { assert, describe, it } from "@effect/vitest"
import * as Location from "../../viewer/src/route/Location.ts"

describe("Location", () => {
  it("names a group, a rollout and a token, whatever the run is called", () => {
    const path = Location.groupPath("a/b ?#c", "17", { rollout: 0, view: "tokens", token: 40 })
    assert.strictEqual(path, "/groups/a%2Fb%20%3F%23c/17?rollout=0&view=tokens&token=40")
    const { path: read, search } = Location.parse(`#${path}`)
    assert.strictEqual(Location.decode(read.split("/")[2]!), "a/b ?#c")
    assert.strictEqual(new URLSearchParams(search).get("rollout"), "0")
  })

  it("takes what nobody encoded as it stands", () => {
    assert.strictEqual(Location.decode("100%"), "100%")
    assert.strictEqual(Location.decode("a%2Fb"), "a/b")
  })

  it("takes an address without a path for the first page", () => {
    for (const hash of ["", "#", "#/"]) assert.deepStrictEqual(Location.parse(hash), { path: "/", search: "" })
  })

  it("keeps question marks of a search", () => {
    assert.strictEqual(Location.parse("#/groups?text=why?").search, "text=why?")
  })

  it("leaves out what is not given", () => {
    assert.strictEqual(Location.groupsPath(null), "/groups")
    assert.strictEqual(Location.format("/", { run: "a b", none: null, empty: "" }), "/?run=a+b")
  })
})
