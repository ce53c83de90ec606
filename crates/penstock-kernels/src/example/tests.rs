use super::*;

fn field(name: &str, kind: Kind, form: Form) -> Field {
    Field { name: name.into(), kind, form }
}

fn fixed(items: usize) -> Form {
    Form::Fixed { items, default: None }
}

fn varying() -> Form {
    Form::Varying { stride: 1, empty_counts: true }
}

fn written(features: &[(&str, Written<'_>)]) -> Vec<u8> {
    let features: Vec<(&[u8], Written<'_>)> = features
        .iter()
        .map(|(name, value)| {
            let value = match value {
                Written::Floats(values) => Written::Floats(values),
                Written::Ints(values) => Written::Ints(values),
                Written::Texts(values) => Written::Texts(values.clone()),
                Written::Nothing => Written::Nothing,
            };
            (name.as_bytes(), value)
        })
        .collect();
    let mut message = Message::default();
    message.put_features(0x0a, &features);
    message.into_bytes()
}

fn ints_of(record: &[u8], form: Form) -> Result<Vec<i64>, Fault> {
    let schema = Schema::new(vec![field("a", Kind::Int, form)]).unwrap();
    let mut columns = [Column::of(Values::Ints(Vec::new()))];
    parse(&schema, &[record], &mut columns)?;
    let Values::Ints(values) = std::mem::replace(&mut columns[0].values, Values::Texts(Vec::new())) else { panic!() };
    Ok(values)
}

/// An Example with one feature `a` whose message is `feature`.
fn with_feature(feature: &[u8]) -> Vec<u8> {
    let mut entry = vec![0x0a, 1, b'a', 0x12, feature.len() as u8];
    entry.extend(feature);
    let mut features = vec![0x0a, entry.len() as u8];
    features.extend(entry);
    let mut record = vec![0x0a, features.len() as u8];
    record.extend(features);
    record
}

#[test]
fn what_is_written_is_read() {
    let long = [7u8; 300];
    let record = written(&[
        ("floats", Written::Floats(&[1.5, -2.0])),
        ("ints", Written::Ints(&[0, -1, i64::MAX, 300])),
        ("texts", Written::Texts(vec![b"x", b"", &long])),
        ("nothing", Written::Nothing),
    ]);
    let schema = Schema::new(vec![
        field("ints", Kind::Int, fixed(4)),
        field("texts", Kind::Bytes, varying()),
        field("floats", Kind::Float, fixed(2)),
        field("nothing", Kind::Int, varying()),
    ])
    .unwrap();
    let (mut ints, mut floats) = ([0; 8], [0.0; 4]);
    let mut columns = [
        Column::of(Values::IntRows(&mut ints)),
        Column::of(Values::Texts(Vec::new())),
        Column::of(Values::FloatRows(&mut floats)),
        Column::of(Values::Ints(Vec::new())),
    ];
    parse(&schema, &[&record, &record], &mut columns).unwrap();
    assert_eq!(columns[1].values, Values::Texts(vec![b"x", b"", &long, b"x", b"", &long]));
    assert_eq!((&columns[1].lengths, &columns[3].lengths), (&vec![3, 3], &vec![0, 0]));
    assert_eq!(ints, [0, -1, i64::MAX, 300, 0, -1, i64::MAX, 300]);
    assert_eq!(floats, [1.5, -2.0, 1.5, -2.0]);
}

#[test]
fn numbers_may_stand_apart() {
    let record = with_feature(&[0x1a, 5, 0x08, 5, 0x08, 0x80, 1]);
    assert_eq!(ints_of(&record, varying()).unwrap(), [5, 128]);
}

#[test]
fn keys_in_any_order_and_left_out_are_found() {
    let names = ["a", "bb", "", "a long name of a key", "e"];
    let fields = names.iter().map(|name| field(name, Kind::Int, varying())).collect();
    let schema = Schema::new(fields).unwrap();
    let orders = [vec![0, 1, 2, 3, 4], vec![4, 3, 2, 1, 0], vec![0, 2, 4], vec![1, 3], vec![0, 1, 2, 3, 4], vec![2, 0]];
    let values: Vec<i64> = (0..5).collect();
    let records: Vec<Vec<u8>> = orders
        .iter()
        .map(|order| {
            let mut features: Vec<_> =
                order.iter().map(|&key| (names[key], Written::Ints(&values[key..][..1]))).collect();
            features.insert(1, ("of nobody", Written::Ints(&values)));
            written(&features)
        })
        .collect();
    let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
    let mut columns: Vec<_> = names.iter().map(|_| Column::of(Values::Ints(Vec::new()))).collect();
    parse(&schema, &records, &mut columns).unwrap();
    for (key, column) in columns.iter().enumerate() {
        let expected: Vec<i64> = orders.iter().map(|order| i64::from(order.contains(&key))).collect();
        assert_eq!(column.lengths, expected);
        assert_eq!(column.values, Values::Ints(vec![key as i64; expected.iter().sum::<i64>() as usize]));
    }
}

#[test]
fn the_first_fault_names_record_and_field() {
    let schema = Schema::new(vec![field("a", Kind::Int, fixed(1))]).unwrap();
    let good = written(&[("a", Written::Ints(&[1]))]);
    for (bad, problem) in [
        (written(&[]), Problem::Missing),
        (written(&[("a", Written::Nothing)]), Problem::Missing),
        (written(&[("a", Written::Floats(&[1.0]))]), Problem::WrongKind(Kind::Float)),
        (written(&[("a", Written::Ints(&[1, 2]))]), Problem::WrongCount(2)),
        (with_feature(&[0x1a, 2, 0x0a, 9]), Problem::Broken { what: "numbers beyond the end of their list", at: 12 }),
    ] {
        let mut rows = [0; 2];
        let mut columns = [Column::of(Values::IntRows(&mut rows))];
        let fault = parse(&schema, &[&good, &bad], &mut columns).unwrap_err();
        assert_eq!(fault, Fault { record: 1, in_lists: false, field: Some(0), step: None, problem });
    }
}

#[test]
fn a_record_cut_short_anywhere_is_no_panic() {
    let record = written(&[("b", Written::Texts(vec![b"xyz"])), ("a", Written::Ints(&[1, 300, -1]))]);
    for end in 1..record.len() {
        assert!(ints_of(&record[..end], varying()).is_err(), "{end}");
    }
}

#[test]
fn no_field_at_all_is_none() {
    let schema = Schema::new(Vec::new()).unwrap();
    let record = written(&[("a", Written::Ints(&[1])), ("", Written::Ints(&[1]))]);
    parse(&schema, &[&record, &record], &mut []).unwrap();
}

#[test]
fn steps_come_with_their_lengths() {
    let mut message = Message::default();
    message.put_features(0x0a, &[(b"id", Written::Ints(&[9]))]);
    message.put_feature_lists(0x12, &[(b"a", vec![Written::Ints(&[1, 2]), Written::Nothing, Written::Ints(&[3])])]);
    let record = message.into_bytes();
    let context = Schema::new(vec![field("id", Kind::Int, fixed(1))]).unwrap();
    let steps = |items, required| field("a", Kind::Int, Form::Steps { items, required });
    let lists = Schema::new(vec![steps(None, true)]).unwrap();
    let mut ids = [0];
    let mut context_columns = [Column::of(Values::IntRows(&mut ids))];
    let mut columns = [Column::of(Values::Ints(Vec::new()))];
    parse_sequences(&context, &lists, &[&record], &mut context_columns, &mut columns).unwrap();
    assert_eq!(columns[0].values, Values::Ints(vec![1, 2, 3]));
    assert_eq!((&columns[0].lengths, &columns[0].steps), (&vec![3], &vec![2, 0, 1]));
    let even = Schema::new(vec![steps(Some(2), true)]).unwrap();
    let mut columns = [Column::of(Values::Ints(Vec::new()))];
    let fault = parse_sequences(&context, &even, &[&record], &mut context_columns, &mut columns).unwrap_err();
    assert_eq!((fault.in_lists, fault.step, fault.problem), (true, Some(1), Problem::WrongCount(0)));
}
