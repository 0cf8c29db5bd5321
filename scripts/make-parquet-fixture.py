"""Writes packages/core/test/fixtures/parquet/: two parquet files of one small table, with the codecs and types that the hub's files have; and
numbers.parquet, with integers and decimals that no double is; edges.parquet, in LZ4, with a column of nulls, null lists and structs, and times.

Needs `pyarrow` (written with 26.0.1). The result is committed; run this again only to change it:
    python scripts/make-parquet-fixture.py
"""

import decimal
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = pathlib.Path(__file__).parent.parent / "packages" / "core" / "test" / "fixtures" / "parquet"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for file, codec, start in [("0.parquet", "snappy", 0), ("1.parquet", "zstd", 5)]:
        rows = [
            {"id": n, "question": f"What is {n} + {n}?", "answer": f"#### {2 * n}", "choices": [f"{n}", "é"], "meta": {"big": 2**60 if n == 7 else n}}
            for n in range(start, start + 5)
        ]
        pq.write_table(pa.Table.from_pylist(rows), FOLDER / file, compression=codec, row_group_size=2)
    edges = pa.table(
        {
            "question": ["a", "b"],
            "note": pa.array([None, None], pa.string()),
            "list": pa.array([None, ["x"]], pa.list_(pa.string())),
            "meta": pa.array([None, {"n": None}], pa.struct([("n", pa.int64())])),
            "seconds": pa.array([1_000_000_000, None], pa.timestamp("ms")),
            "nanos": pa.array([1_700_000_000_123_456_789, 1_700_000_000_123_456_788], pa.timestamp("ns")),
            "time": pa.array([1, 2], pa.time64("us")),
        }
    )
    pq.write_table(edges, FOLDER / "edges.parquet", compression="lz4")
    small, large = pa.decimal128(9, 2), pa.decimal128(38, 10)
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("unsigned", pa.uint64()),
            ("price", small),
            ("total", large),
            ("whole", pa.decimal128(20, 0)),
            ("nested", pa.struct([("parts", pa.list_(large)), ("by_name", pa.map_(pa.string(), small))])),
            ("calls", pa.list_(pa.struct([("name", pa.string()), ("arguments", pa.struct([("city", pa.string()), ("id", pa.int64())]))]))),
        ]
    )
    number = decimal.Decimal
    rows = [
        {
            "id": 2512292042121000001, "unsigned": 2**64 - 1, "price": number("-0.05"), "total": number("1234567890123456789012345678.0000000001"), "whole": number("12345678901234567890"),
            "nested": {"parts": [number("0.1"), None, number("-3")], "by_name": {"total": number("7.50")}},
            "calls": [{"name": "read", "arguments": {"id": 2512292042121000001}}, {"name": "go", "arguments": {"city": "Bern"}}],
        },
        {"id": 7, "unsigned": 0, "price": None, "total": number("5"), "whole": number("3"), "nested": {"parts": [], "by_name": {}}, "calls": []},
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), FOLDER / "numbers.parquet", compression="snappy", use_dictionary=["price"])


if __name__ == "__main__":
    main()
