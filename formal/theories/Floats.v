(* Steps of float64 in rows/encoding.py: what Rounding.v assumes of the box and of the loop that shortens. Numbers are
   reals, `fl` rounds them to the nearest float64 (ties to even), as IEEE 754 says that a product is rounded. *)
From Coq Require Import ZArith Reals Lia Lra.
From Flocq Require Import Core Relative.
Local Open Scope R_scope.

Definition exponents := FLT_exp (-1074) 53.
Definition float (x : R) := generic_format radix2 exponents x.
Definition fl (x : R) := round radix2 exponents ZnearestE x.
Definition rint (x : R) : Z := ZnearestE x.
Definition trunc (x : R) : Z := Ztrunc x.

#[local] Instance precise : Prec_gt_0 53 := eq_refl.
#[local] Instance valid : Valid_exp exponents := FLT_exp_valid (-1074) 53.

Lemma integer_is_float (n : Z) : (Z.abs n <= 2 ^ 53)%Z -> float (IZR n).
Proof.
intros small; destruct (Z.eq_dec (Z.abs n) (2 ^ 53)) as [large|less].
  assert (IZR n = 0 \/ Rabs (IZR n) = bpow radix2 53) as [->|power] by (right; rewrite <- abs_IZR, large; reflexivity).
    apply generic_format_0.
  apply generic_format_abs_inv; rewrite power; apply generic_format_bpow; unfold exponents, FLT_exp; lia.
apply generic_format_FLT; exists (Float radix2 n 0); simpl.
- unfold F2R; simpl; ring.
- change (2 ^ 53)%Z with 9007199254740992%Z in *; simpl; lia.
- lia.
Qed.

(* A value that is clamped to [-1, 1], times the number of levels: no coordinate of the box exceeds it. *)
Theorem box_step (t : R) (levels : Z) : (0 <= levels <= 2 ^ 53)%Z -> Rabs t <= 1 ->
  (Z.abs (rint (fl (t * IZR levels))) <= levels)%Z.
Proof.
intros [positive small] t1.
assert (bound : Rabs (fl (t * IZR levels)) <= IZR levels).
  apply abs_round_le_generic; try apply valid_rnd_N; try exact valid.
    apply integer_is_float; lia.
  rewrite Rabs_mult, (Rabs_pos_eq (IZR levels)) by (apply IZR_le; exact positive).
  rewrite <- (Rmult_1_l (IZR levels)) at 2; apply Rmult_le_compat_r; [apply IZR_le|]; assumption.
apply Rabs_le_inv in bound; destruct bound as [low high]; unfold rint.
rewrite <- opp_IZR in low.
pose proof (@Zrnd_le ZnearestE (valid_rnd_N _) _ _ low) as least.
pose proof (@Zrnd_le ZnearestE (valid_rnd_N _) _ _ high) as most.
rewrite Zrnd_IZR in least, most by apply valid_rnd_N.
apply Z.abs_le; split; assumption.
Qed.

(* A coordinate that is not 0, times a factor below 1 and cut: it loses at least one step. *)
Theorem shortening_step (k : Z) (s : R) : (k <> 0)%Z -> 0 <= s <= 1 - bpow radix2 (-40) ->
  (Z.abs (trunc (fl (IZR k * s))) < Z.abs k)%Z.
Proof.
intros k0 [s0 s1].
assert (k1 : 1 <= IZR (Z.abs k)) by (apply IZR_le; lia).
assert (tiny : 0 < bpow radix2 (-40)) by apply bpow_gt_0.
set (x := IZR k * s).
assert (absx : Rabs x <= IZR (Z.abs k) * (1 - bpow radix2 (-40))).
  unfold x; rewrite Rabs_mult, <- abs_IZR, (Rabs_pos_eq s) by assumption.
  apply Rmult_le_compat_l; [lra|assumption].
assert (below : Rabs (fl x) < IZR (Z.abs k)).
  destruct (Rle_or_lt (bpow radix2 (-1074 + 53 - 1)) (Rabs x)) as [normal|small].
    assert (error := relative_error_N_FLT radix2 (-1074) 53 eq_refl (fun n => negb (Z.even n)) x normal).
    change (round radix2 (FLT_exp (-1074) 53) (Znearest (fun n => negb (Z.even n))) x) with (fl x) in error.
    assert (half : / 2 * bpow radix2 (-53 + 1) <= bpow radix2 (-40)) by (simpl; lra).
    assert (apart := Rabs_triang_inv (fl x) x).
    assert (scaled := Rmult_le_compat_r (Rabs x) _ _ (Rabs_pos x) half).
    set (K := IZR (Z.abs k)) in *; set (tau := bpow radix2 (-40)) in *.
    assert (grown : Rabs x * (1 + tau) <= K * (1 - tau) * (1 + tau)) by (apply Rmult_le_compat_r; lra).
    assert (gap : 0 < K * (tau * tau)) by (repeat apply Rmult_lt_0_compat; lra).
    replace (K * (1 - tau) * (1 + tau)) with (K - K * (tau * tau)) in grown by ring.
    change (- (53) + 1)%Z with (-53 + 1)%Z in error; lra.
  apply Rle_lt_trans with (/ 2); [|lra].
  apply abs_round_le_generic; try apply valid_rnd_N; try exact valid.
    change (/ 2) with (bpow radix2 (-1)); apply generic_format_bpow; unfold exponents, FLT_exp; lia.
  apply Rlt_le, Rlt_le_trans with (1 := small); change (/ 2) with (bpow radix2 (-1)); apply bpow_le; lia.
unfold trunc; apply lt_IZR; rewrite abs_IZR.
apply Rle_lt_trans with (2 := below); rewrite <- abs_IZR.
rewrite <- Ztrunc_abs, Ztrunc_floor by apply Rabs_pos; apply Zfloor_lb.
Qed.

(* The factor of `_shorten`, where a row is too long: it is one of those. That of the other loops is 1 - 2^-10. *)
Theorem shortening_factor (most square : R) : 0 <= most < square ->
  0 <= fl (fl (sqrt (fl (most / square))) * (1 - bpow radix2 (-40))) <= 1 - bpow radix2 (-40).
Proof.
intros [most0 less].
assert (small : bpow radix2 (-40) <= 1) by (change 1 with (bpow radix2 0); apply bpow_le; lia).
assert (one : float 1) by (apply (integer_is_float 1); discriminate).
assert (limit : float (1 - bpow radix2 (-40))).
  apply generic_format_FLT; exists (Float radix2 (2 ^ 40 - 1) (-40)); [|reflexivity|discriminate].
  unfold F2R; simpl; lra.
assert (up : forall x y, float y -> x <= y -> fl x <= y).
  intros x y fy xy; apply round_le_generic; [exact valid|apply valid_rnd_N|exact fy|exact xy].
assert (down : forall x, 0 <= x -> 0 <= fl x).
  intros x x0; apply round_ge_generic; [exact valid|apply valid_rnd_N|apply generic_format_0|exact x0].
assert (quotient0 : 0 <= most / square) by (apply Rmult_le_pos; [assumption|apply Rlt_le, Rinv_0_lt_compat; lra]).
assert (quotient1 : most / square <= 1) by (apply Rmult_le_reg_r with square; [lra|]; field_simplify; lra).
assert (root1 : sqrt (fl (most / square)) <= 1).
  rewrite <- sqrt_1; apply sqrt_le_1_alt; apply up; assumption.
assert (root0 := down _ (sqrt_pos (fl (most / square)))).
apply up in root1; [|assumption].
split; [apply down|apply up; [assumption|]]; nra.
Qed.
