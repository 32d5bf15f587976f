//! Correlations, tests by ranks and adjusted p-values, held to what `tools/golden_statistics.py` wrote.

use mnno_measures::{
    PMethod, RankTest, Undefined, bonferroni, holm, kendall, pearson, rank_sum, signed_rank, spearman,
};
use serde_json::Value;

fn golden() -> Value {
    let text = include_str!("../../../fixtures/golden/statistics.json");
    serde_json::from_str(text).expect("the golden file is JSON")
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no list '{key}' in {value}"))
}

fn numbers(value: &Value, key: &str) -> Vec<f64> {
    list(value, key).iter().map(|v| v.as_f64().expect("a number")).collect()
}

/// The values of a side: as listed, or drawn by Lehmer's generator from [n, seed, modulus].
fn side(case: &Value, key: &str) -> Vec<f64> {
    if case["drawn"].is_null() {
        return numbers(case, key);
    }
    let drawn: Vec<u64> = list(case, key).iter().map(|v| v.as_u64().expect("a whole number")).collect();
    let mut state = drawn[1];
    (0..drawn[0])
        .map(|_| {
            state = state * 48271 % 2_147_483_647;
            (state % drawn[2]) as f64
        })
        .collect()
}

#[track_caller]
fn near(found: f64, expected: f64, scale: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-10 * scale, "{what}: {found:e}, but SciPy has {expected:e}");
}

/// A correlation to 1e-10; no value where one side is constant.
fn check_correlation(case: &Value, key: &str, found: Result<f64, Undefined>) {
    let what = format!("{}, {key}", case["name"]);
    match (found, &case[key]) {
        (Ok(found), Value::Number(expected)) => near(found, expected.as_f64().unwrap(), 1.0, &what),
        (Err(Undefined::Constant { .. }), Value::Null) => {}
        (Err(Undefined::Lengths { .. }), Value::Null) if list(case, "x").len() != list(case, "y").len() => {}
        (found, expected) => panic!("{what}: {found:?}, but SciPy has {expected}"),
    }
}

/// A p-value to 1e-10 of itself, by the method that the documentation promises.
fn check_test(case: &Value, key: &str, found: Result<RankTest, Undefined>) {
    let what = format!("{}, {key}", case["name"]);
    let expected = &case[key];
    match found {
        Ok(found) => {
            assert_eq!(Some(found.statistic), expected["statistic"].as_f64(), "{what}");
            assert_eq!(Some(found.method == PMethod::Exact), expected["exact"].as_bool(), "{what}");
            let p = expected["p"].as_f64().expect("a p-value");
            near(found.p, p, p, &what);
        }
        Err(reason) => assert!(expected.is_null(), "{what}: {reason}, but SciPy has {expected}"),
    }
}

#[test]
fn all_agree_with_scipy() {
    let golden = golden();
    let cases = list(&golden, "cases");
    assert!(cases.len() > 20);
    for case in cases {
        let (x, y) = (side(case, "x"), side(case, "y"));
        check_correlation(case, "pearson", pearson(&x, &y));
        check_correlation(case, "spearman", spearman(&x, &y));
        check_correlation(case, "kendall", kendall(&x, &y));
        check_test(case, "rank_sum", rank_sum(&x, &y));
        check_test(case, "signed_rank", signed_rank(&x, &y));
    }
    // Each kind of result is among them.
    let has = |key: &str, exact: bool| cases.iter().any(|case| case[key]["exact"] == exact);
    assert!(["rank_sum", "signed_rank"].iter().all(|key| has(key, true) && has(key, false)));
}

#[test]
fn adjusted_p_values_are_as_written_out() {
    for family in list(&golden(), "adjusted") {
        let p = numbers(family, "p");
        assert_eq!(bonferroni(&p).unwrap(), numbers(family, "bonferroni"));
        assert_eq!(holm(&p).unwrap(), numbers(family, "holm"));
    }
}
