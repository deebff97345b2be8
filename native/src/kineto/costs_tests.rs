//! Costs of literal arguments.

use super::*;

fn costs(op: &str, shapes: &str, kind: &str, values: &str) -> Option<(i64, i64)> {
    let types = format!("[{}]", vec![format!("\"{kind}\""); 12].join(","));
    cost(op, &Arguments { shapes, types: &types, values }).map(|cost| (cost.flops, cost.bytes))
}

#[test]
fn products() {
    assert_eq!(costs("aten::mm", "[[2,3],[3,5]]", "float", "[]"), Some((60, 4 * (6 + 15 + 10))));
    assert_eq!(costs("aten::bmm", "[[7,2,3],[7,3,5]]", "c10::Half", "[]"), Some((420, 2 * 7 * (6 + 15 + 10))));
    let bf16 = "c10::BFloat16";
    assert_eq!(costs("aten::addmm", "[[512],[141,512],[512,512],[],[]]", bf16, "[]"), Some((73_996_800, 814_080)));
    assert_eq!(costs("aten::mm", "[[2,3],[4,5]]", "float", "[]"), None, "sizes that do not fit");
    assert_eq!(costs("aten::mm", "[[9000000000,9000000000],[9000000000,2]]", "float", "[]"), None, "too large");
}

#[test]
fn convolutions() {
    // 3x3 over 8x8 with stride 2 and padding 1: 4x4 results.
    let (shapes, flops) = ("[[2,3,8,8],[16,3,3,3],[],[],[],[],[]]", 2 * (2 * 16 * 4 * 4) * 27);
    let moved = 4 * (2 * 3 * 64 + 16 * 27 + 2 * 16 * 16);
    let plain = r#"["","","","[2, 2]","[1, 1]","[1, 1]","False"]"#;
    assert_eq!(costs("aten::convolution", shapes, "float", plain), Some((flops, moved)));
    let library = r#"["","","[1, 1]","[2, 2]","[1, 1]","1"]"#;
    assert_eq!(costs("aten::cudnn_convolution", shapes, "float", library), Some((flops, moved)));
    let mask = r#"["","","","","","","","False","","1","[False, True, False]"]"#;
    let backward = "[[2,16,4,4],[2,3,8,8],[16,3,3,3]]";
    assert_eq!(costs("aten::convolution_backward", backward, "float", mask), Some((flops, moved)));
    assert_eq!(costs("aten::convolution", shapes, "float", "[]"), None, "without the stride");
}

#[test]
fn attention_of_both_layouts() {
    let flops = 4 * 8 * 141 * 141 * 64;
    let moved = 2 * 4 * 8 * 141 * 64;
    let (heads_first, length_first) =
        ("[[1,8,141,64],[1,8,141,64],[1,8,141,64]]", "[[1,141,8,64],[1,141,8,64],[1,141,8,64]]");
    let bf16 = "c10::BFloat16";
    assert_eq!(costs("aten::_scaled_dot_product_flash_attention", heads_first, bf16, "[]"), Some((flops, moved)));
    assert_eq!(costs("aten::_flash_attention_forward", length_first, bf16, "[]"), Some((flops, moved)));
    let causal = r#"["","","","","","","","","True"]"#;
    assert_eq!(costs("aten::_flash_attention_forward", length_first, bf16, causal), Some((flops / 2, moved)));
    let masked = r#"["","","","","","","","","","1"]"#;
    assert_eq!(costs("aten::_efficient_attention_forward", length_first, bf16, masked), Some((flops / 2, moved)));
    let backward = "[[1,141,8,64],[1,141,8,64],[1,141,8,64],[1,141,8,64]]";
    assert_eq!(costs("aten::_flash_attention_backward", backward, bf16, "[]"), Some((flops / 2 * 5, 2 * moved)));
}

#[test]
fn linear_layers() {
    let (bias, none) = ("[[4,8,16],[32,16],[32]]", "[[4,8,16],[32,16],[]]");
    let moved = 4 * (4 * 8 * 16 + 32 * 16 + 4 * 8 * 32);
    assert_eq!(costs("aten::linear", none, "float", "[]"), Some((2 * 32 * 32 * 16, moved)));
    assert_eq!(costs("aten::linear", bias, "float", "[]"), Some((2 * 32 * 32 * 16 + 32 * 32, moved + 4 * 32)));
    assert_eq!(costs("aten::linear", "[[16],[32,16]]", "float", "[]").unwrap().0, 2 * 32 * 16);
    assert_eq!(costs("aten::linear", "[[4,8],[32,16],[]]", "float", "[]"), None, "sizes that do not fit");
}

#[test]
fn flash_attention() {
    let (forward, backward) = ("flash_attn::_flash_attn_forward", "flash_attn::_flash_attn_backward");
    let (flops, moved) = (4 * 2 * 8 * 128 * 128 * 64, 2 * 4 * 2 * 128 * 8 * 64);
    let shapes = "[[2,128,8,64],[2,128,8,64],[2,128,8,64]]";
    let [open, causal, window] = [["False", "-1", "-1"], ["True", "-1", "0"], ["False", "64", "64"]]
        .map(|[causal, left, right]| format!(r#"["","","","0.","0.125","{causal}","{left}","{right}"]"#));
    assert_eq!(costs(forward, shapes, "c10::Half", &open), Some((flops, moved)));
    assert_eq!(costs(forward, shapes, "c10::Half", &causal), Some((flops / 2, moved)));
    assert_eq!(costs(forward, shapes, "c10::Half", &window), None, "within a window");
    let gradient = "[[2,128,8,64],[2,128,8,64],[2,128,8,64],[2,128,8,64]]";
    let values = r#"["","","","","","","","","","0.","0.125","True","-1","-1"]"#;
    assert_eq!(costs(backward, gradient, "c10::Half", values), Some((flops / 2 * 5 / 2, 2 * moved)));
}

#[test]
fn flash_attention_over_sequences() {
    let forward = "flash_attn::_flash_attn_varlen_forward";
    let of = |total: i64, ends: &str, count: i64, longest: i64, causal: &str| {
        let shapes = format!("[[{total},8,64],[{total},2,64],[{total},2,64],[{count}],[{count}],[],[]]");
        let values = format!(r#"["","","","{ends}","{ends}","{longest}","{longest}","0.","0.1","{causal}","-1","-1"]"#);
        costs(forward, &shapes, "c10::BFloat16", &values)
    };
    let moved = 2 * (2 * 300 * 8 * 64 + 2 * 300 * 2 * 64);
    assert_eq!(of(300, "", 4, 100, "False"), Some((4 * 3 * 100 * 100 * 8 * 64, moved)), "of equal lengths");
    assert_eq!(of(300, "", 2, 300, "True"), Some((2 * 300 * 300 * 8 * 64, moved)), "one");
    assert_eq!(of(300, "", 4, 200, "False"), None, "of unknown lengths");
    let known = 4 * (50 * 50 + 50 * 50 + 200 * 200) * 8 * 64;
    assert_eq!(of(300, "[0, 50, 100, 300]", 4, 200, "False"), Some((known, moved)), "of recorded lengths");
    assert_eq!(of(300, "[0, 50, 40, 300]", 4, 200, "False"), None);
    let shapes = "[[300,8,64],[300,8,64],[300,2,64],[300,2,64],[],[],[],[],[],[4],[4],[],[]]";
    let values = r#"["","","","","","","","","","","","100","100","0.","0.1","False","-1","-1"]"#;
    let backward = costs("flash_attn::_flash_attn_varlen_backward", shapes, "c10::BFloat16", values);
    assert_eq!(backward, Some((10 * 3 * 100 * 100 * 8 * 64, 2 * moved)));
}

#[test]
fn others_have_none() {
    assert_eq!(costs("aten::add", "[[2],[2]]", "float", "[]"), None);
    assert_eq!(costs("aten::mm", "nonsense", "float", "[]"), None);
}
