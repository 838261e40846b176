(* Theorems 10 and 14: how far apart the vectors of two rows can be, and how long the vector of one row can be. What m
   rows and people with many rows make of that is in Hull.v. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring zify.
From Graphveil Require Import Vectors.
Import Order.Theory GRing.Theory Num.Theory.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Clip.
Variable R : realDomainType.
Implicit Types a b c x y low high : R.

Lemma sqr_le a b : `|a| <= b -> a ^+ 2 <= b ^+ 2.
Proof.
move=> ab; rewrite -[a ^+ 2]real_normK ?num_real // ler_sqr // ?nnegrE ?normr_ge0 //.
exact: le_trans (normr_ge0 a) ab.
Qed.

Definition clip low high x : R := Num.max low (Num.min high x).

Lemma clip_ge low high x : low <= clip low high x.
Proof. by rewrite le_maxr lexx. Qed.

Lemma clip_le low high x : low <= high -> clip low high x <= high.
Proof. by move=> lh; rewrite le_maxl lh le_minl lexx. Qed.

Lemma clip_inside low high c : low <= c <= high -> clip low high c = c.
Proof. by case/andP=> lc ch; rewrite /clip (min_idPr ch) (max_idPr lc). Qed.

Let max_step a x y : x <= y -> Num.max a x <= Num.max a y <= Num.max a x + (y - x).
Proof.
move=> xy; have d0 : 0 <= y - x by rewrite subr_ge0.
rewrite !le_maxl !le_maxr lexx xy orbT /= (ler_paddr d0) ?le_maxr ?lexx //=.
by rewrite -ler_subl_addr opprB addrC subrK le_maxr lexx orbT.
Qed.

Let min_step b x y : x <= y -> Num.min b x <= Num.min b y <= Num.min b x + (y - x).
Proof.
move=> xy; have d0 : 0 <= y - x by rewrite subr_ge0.
rewrite addr_minl !le_minr !le_minl lexx xy orbT ler_addl d0 /=.
by rewrite [x + _]addrC subrK lexx orbT.
Qed.

(* Clipping does not increase distances. *)
Lemma clip_near low high x y : (clip low high x - clip low high y) ^+ 2 <= (x - y) ^+ 2.
Proof.
wlog xy : x y / x <= y.
  move=> H; have [xy|/ltW yx] := leP x y; first exact: H.
  by rewrite -[x - y]opprB -[clip _ _ x - _]opprB !sqrrN; apply: H.
have /andP [low1 high1] := min_step high xy; have /andP [low2 high2] := max_step low low1.
rewrite -[x - y]opprB -[clip _ _ x - _]opprB !sqrrN; apply: sqr_le; rewrite ger0_norm ?subr_ge0 //.
by rewrite ler_subl_addl; apply: le_trans high2 _; rewrite ler_add2l ler_subl_addl.
Qed.

End Clip.

Section Columns.
Variable R : realDomainType.
Variable J : finType.
Variables low high weight : J -> R.
Implicit Types k l centre reach : J -> R.

Definition clipped k j : R := clip (low j) (high j) (k j).

(* What a row adds to the sums of its columns, and to their squares about public centres. *)
Definition mean k j : R := weight j * clipped k j.
Definition mean_about centre k j : R := weight j * (clipped k j - centre j).
Definition square_about centre k j : R := weight j * (clipped k j - centre j) ^+ 2.

(* A window, a point of it, and how far the window reaches from that point. *)
Hypothesis window : forall j, low j <= high j.
Hypothesis weight_ge0 : forall j, 0 <= weight j.
Variables (heaviest : R) (heavy : forall j, weight j <= heaviest) (heaviest_ge0 : 0 <= heaviest).
Variables (centre reach : J -> R).
Hypothesis inside : forall j, low j <= centre j <= high j.
Hypothesis reaches : forall j, high j - centre j <= reach j /\ centre j - low j <= reach j.
(* Rows are no longer than r, the centre not than s. *)
Variables (B r s : R).
Hypotheses (r_ge0 : 0 <= r) (s_ge0 : 0 <= s) (Br : B <= r ^+ 2) (centre_s : sq centre <= s ^+ 2).

Lemma clipped_near k j : (clipped k j - centre j) ^+ 2 <= (k j - centre j) ^+ 2.
Proof. by rewrite -{1}(clip_inside (inside j)); apply: clip_near. Qed.

Lemma clipped_reach k j : `|clipped k j - centre j| <= reach j.
Proof.
have [hi lo] := reaches j; rewrite ler_norml ler_oppl opprB; apply/andP; split.
  by apply: le_trans lo; rewrite ler_add2l ler_opp2 clip_ge.
by apply: le_trans hi; rewrite ler_add2r clip_le.
Qed.

Lemma clipped_ball k : sq k <= B -> sq (fun j => clipped k j - centre j) <= (r + s) ^+ 2.
Proof.
move=> kB; apply: le_trans (sq_sub r_ge0 s_ge0 (le_trans kB Br) centre_s).
by apply: ler_sum => j _; apply: clipped_near.
Qed.

Let weigh (x y : J -> R) : (forall j, x j ^+ 2 <= y j ^+ 2) ->
  sq (fun j => weight j * x j) <= heaviest ^+ 2 * sq y.
Proof.
move=> xy; rewrite /sq mulr_sumr; apply: ler_sum => j _; rewrite exprMn.
by apply: ler_pmul; rewrite ?sqr_ge0 // ler_sqr ?nnegrE.
Qed.

(* ------------------------------------------------------------------ means *)
Lemma means_window k l : sq (fun j => mean k j - mean l j) <= \sum_j (weight j * (high j - low j)) ^+ 2.
Proof.
apply: ler_sum => j _; rewrite /mean -mulrBr !exprMn; apply: ler_wpmul2l; first exact: sqr_ge0.
apply: sqr_le; rewrite ler_norml ler_oppl opprB !ler_sub ?clip_ge ?clip_le //.
Qed.

Lemma means_ball k l : sq k <= B -> sq l <= B -> sq (fun j => mean k j - mean l j) <= 4%:R * heaviest ^+ 2 * B.
Proof.
move=> kB lB; apply: (@le_trans _ _ (heaviest ^+ 2 * sq (fun j => k j - l j))).
  rewrite (eq_sq (fun j => esym (mulrBr _ _ _))).
  by apply: (@weigh (fun j => clipped k j - clipped l j)) => j; apply: clip_near.
rewrite -mulrA mulrCA; apply: ler_wpmul2l; first exact: sqr_ge0.
have -> : sq (fun j => k j - l j) = 2%:R * (sq k + sq l) - sq (fun j => k j + l j).
  by rewrite /sq -big_split mulr_sumr -sumrB; apply: eq_bigr => j _ /=; ring.
rewrite ler_subl_addr; apply: ler_paddr; first exact: sq_ge0.
have -> : 4%:R * B = 2%:R * (B + B) by ring.
by apply: ler_wpmul2l; rewrite ?ler0n // ler_add.
Qed.

Lemma means_about_window k : sq (mean_about centre k) <= \sum_j (weight j * reach j) ^+ 2.
Proof.
apply: ler_sum => j _; rewrite !exprMn; apply: ler_wpmul2l; first exact: sqr_ge0.
exact/sqr_le/clipped_reach.
Qed.

Lemma means_about_ball k : sq k <= B -> sq (mean_about centre k) <= (heaviest * (r + s)) ^+ 2.
Proof.
move=> kB; apply: le_trans (weigh (fun j => lexx _)) _.
by rewrite exprMn; apply: ler_wpmul2l; rewrite ?sqr_ge0 ?clipped_ball.
Qed.

(* ------------------------------------------------------------------ squares *)
Lemma square_about_ge0 k j : 0 <= square_about centre k j.
Proof. by rewrite mulr_ge0 ?sqr_ge0. Qed.

Lemma square_about_le k j : square_about centre k j <= weight j * reach j ^+ 2.
Proof. by rewrite ler_wpmul2l //; apply/sqr_le/clipped_reach. Qed.

Lemma squares_window k l :
  sq (fun j => square_about centre k j - square_about centre l j) <= \sum_j (weight j * reach j ^+ 2) ^+ 2.
Proof.
apply: ler_sum => j _; apply: sqr_le; rewrite ler_norml ler_oppl opprB.
by rewrite !ler_subl_addr !ler_paddr ?square_about_ge0 ?square_about_le.
Qed.

Lemma squares_alone_window k : sq (square_about centre k) <= \sum_j (weight j * reach j ^+ 2) ^+ 2.
Proof. by apply: ler_sum => j _; apply: sqr_le; rewrite ger0_norm ?square_about_ge0 ?square_about_le. Qed.

Lemma squares_alone_ball k : sq k <= B -> sq (square_about centre k) <= (heaviest * (r + s) ^+ 2) ^+ 2.
Proof.
move=> kB; apply: le_trans (sum_sqr_le (square_about_ge0 k)) _.
rewrite ler_sqr; first last.
- by rewrite nnegrE mulr_ge0 ?sqr_ge0.
- by rewrite nnegrE; apply: sumr_ge0 => j _; apply: square_about_ge0.
apply: le_trans (ler_wpmul2l heaviest_ge0 (clipped_ball kB)); rewrite mulr_sumr; apply: ler_sum => j _.
by apply: ler_wpmul2r; rewrite ?sqr_ge0.
Qed.

Lemma squares_ball k l : sq k <= B -> sq l <= B ->
  sq (fun j => square_about centre k j - square_about centre l j) <= 2%:R * (heaviest * (r + s) ^+ 2) ^+ 2.
Proof.
move=> kB lB; apply: (@le_trans _ _ (sq (square_about centre k) + sq (square_about centre l))).
  rewrite /sq -big_split; apply: ler_sum => j _ /=; rewrite -subr_ge0.
  have expand (x y : R) : x ^+ 2 + y ^+ 2 - (x - y) ^+ 2 = 2%:R * (x * y) by ring.
  by rewrite expand mulr_ge0 ?ler0n // mulr_ge0 ?square_about_ge0.
by rewrite mulr_natl mulr2n; apply: ler_add; apply: squares_alone_ball.
Qed.

End Columns.

(* A row restricted to some of its columns is not longer. *)
Lemma sq_pick (R : realDomainType) (I J : finType) (which : J -> I) (x : I -> R) :
  injective which -> sq (fun j => x (which j)) <= sq x.
Proof.
move=> wi; rewrite /sq (eq_bigl (mem [set: J])) => [|j]; last by rewrite /= in_setT.
rewrite -(big_imset (fun i => x i ^+ 2)) /=; last by move=> ? ? _ _; apply: wi.
by rewrite [X in _ <= X](bigID (mem (which @: setT))) /= ler_addl sumr_ge0 // => i _; apply: sqr_ge0.
Qed.

(* ------------------------------------------------------------------ counts *)
Section Counts.
Variables (R : realDomainType) (J I : finType).
Implicit Types cell : J -> option I.

(* Into at most one cell of every block: nothing is counted where a value is missing. *)
Definition counts cell (ji : J * I) : R := (cell ji.1 == Some ji.2)%:R.

Let in_block cell j : \sum_i counts cell (j, i) ^+ 2 <= 1.
Proof.
rewrite /counts /=; case: (cell j) => [i0|]; last by rewrite big1 ?ler01 // => i _; rewrite expr0n.
rewrite (bigD1 i0) //= eqxx expr1n big1 ?addr0 // => i /negbTE ii.
by rewrite (inj_eq (@Some_inj _)) eq_sym ii expr0n.
Qed.

Lemma counts_alone cell : sq (counts cell) <= #|J|%:R.
Proof.
rewrite /sq -(pair_big xpredT xpredT (fun j i => counts cell (j, i) ^+ 2)) /= -sumr_const.
by apply: ler_sum => j _; apply: in_block.
Qed.

Lemma counts_apart cell cell' : sq (fun ji => counts cell ji - counts cell' ji) <= 2%:R * #|J|%:R.
Proof.
apply: (@le_trans _ _ (sq (counts cell) + sq (counts cell'))).
  rewrite /sq -big_split; apply: ler_sum => ji _ /=; rewrite /counts.
  by do 2!case: (_ == _); rewrite ?subrr ?subr0 ?sub0r ?sqrrN ?expr0n ?expr1n ?addr0 ?add0r ?lexx ?ler01 // ler_paddl ?ler01.
by rewrite mulr_natl mulr2n; apply: ler_add; apply: counts_alone.
Qed.

End Counts.

(* ------------------------------------------------------------------ signs *)
Section Signs.
Variables (R : realDomainType) (n : nat).
Implicit Types u v : 'I_n -> bool.

(* The products of two different of n signs, each once. *)
Definition sign (b : bool) : R := (-1) ^+ b.
Definition pairs u (ij : 'I_n * 'I_n) : R := if (ij.1 < ij.2)%N then sign (u ij.1) * sign (u ij.2) else 0.

Let sign2 b : sign b ^+ 2 = 1. Proof. by rewrite /sign sqrr_sign. Qed.

(* Twice a sum above the diagonal is the whole sum, where the diagonal is zero. *)
Let above (F : 'I_n -> 'I_n -> R) : (forall i j, F i j = F j i) -> (forall i, F i i = 0) ->
  2%:R * (\sum_(ij : ('I_n * 'I_n)%type) if (ij.1 < ij.2)%N then F ij.1 ij.2 else 0) = \sum_i \sum_j F i j.
Proof.
move=> Fs F0; rewrite -(pair_big xpredT xpredT (fun i j : 'I_n => if (i < j)%N then F i j else 0)) /=.
rewrite mulr_natl mulr2n {2}exchange_big -big_split; apply: eq_bigr => i _ /=.
rewrite -big_split; apply: eq_bigr => j _ /=; rewrite (Fs j i).
have [ij|ji|/val_inj ->] := ltngtP i j; rewrite ?addr0 ?add0r ?F0 //.
Qed.

Lemma pairs_apart u v : sq (fun ij => pairs u ij - pairs v ij) <= 4%:R * ((n ^ 2) %/ 4)%:R.
Proof.
pose z i : nat := u i (+) v i; pose a := (\sum_i z i)%N.
have zE i : sign (u i) * sign (v i) = 1 - 2%:R * (z i)%:R :> R.
  by rewrite /sign /z; case: (u i); case: (v i); rewrite /= ?expr0 ?expr1; ring.
pose F i j := 2%:R - 2%:R * ((sign (u i) * sign (v i)) * (sign (u j) * sign (v j))).
have -> : sq (fun ij => pairs u ij - pairs v ij)
        = \sum_(ij : ('I_n * 'I_n)%type) (if (ij.1 < ij.2)%N then F ij.1 ij.2 else 0).
  apply: eq_bigr => -[i j] _; rewrite /pairs /=; case: ifP => _; last by rewrite subr0 expr0n.
  rewrite /F sqrrB !exprMn !sign2; ring.
rewrite -(ler_pmul2l (ltr0Sn R 1)) above; first last.
- by move=> i; rewrite /F; rewrite -expr2 exprMn !sign2; ring.
- by move=> i j; rewrite /F [_ * (sign (u j) * _)]mulrC.
have an : (a <= n)%N.
  by rewrite /a -[X in (_ <= X)%N]card_ord -sum1_card; apply: leq_sum => i _; rewrite /z; case: (_ (+) _).
have -> : \sum_i \sum_j F i j = (8 * (a * (n - a)))%:R.
  have S : \sum_i sign (u i) * sign (v i) = n%:R - 2%:R * a%:R :> R.
    under eq_bigr do rewrite zE.
    by rewrite sumrB -mulr_sumr sumr_const card_ord /a natr_sum.
  have -> : \sum_i \sum_j F i j
          = 2%:R * n%:R ^+ 2 - 2%:R * (\sum_i sign (u i) * sign (v i)) ^+ 2.
    rewrite expr2 [X in _ - _ * X]big_distrlr mulr_sumr /=.
    under [X in _ - X]eq_bigr do rewrite mulr_sumr.
    have -> : 2%:R * n%:R ^+ 2 = \sum_(i < n) \sum_(j < n) 2%:R :> R.
      by rewrite !sumr_const !card_ord -!mulrnA -natrX -natrM; congr (_%:R); rewrite expnS expn1.
    by rewrite -sumrB; apply: eq_bigr => i _; rewrite -sumrB.
  by rewrite S 2!natrM natrB //; ring.
have quarter : (a * (n - a) <= n ^ 2 %/ 4)%N.
  by rewrite leq_divRL // mulnC -{2}(subnKC an); apply: (nat_AGM2 _ _).
by rewrite -!natrM ler_nat (mulnA 2%N 4%N) leq_mul2l quarter orbT.
Qed.

Lemma pairs_alone u : sq (pairs u) <= 4%:R * ((n ^ 2) %/ 4)%:R.
Proof.
rewrite -(ler_pmul2l (ltr0Sn R 1)).
have -> : sq (pairs u) = \sum_(ij : ('I_n * 'I_n)%type) (if (ij.1 < ij.2)%N then (ij.1 != ij.2)%:R else 0).
  apply: eq_bigr => -[i j] _; rewrite /pairs /=; case: ifP => [ij|_]; last by rewrite expr0n.
  by rewrite exprMn !sign2 mulr1 neq_ltn ij.
rewrite (@above (fun i j => (i != j)%:R)); first last.
- by move=> i; rewrite eqxx.
- by move=> i j; rewrite eq_sym.
have -> : \sum_(i < n) \sum_(j < n) (i != j)%:R = (n * n.-1)%:R :> R.
  have one i : \sum_(j < n) (i != j)%:R = n.-1%:R :> R.
    rewrite (bigD1 i) //= eqxx add0r (eq_bigr (fun=> 1)); last by move=> j ji; rewrite eq_sym ji.
    by rewrite sumr_const cardC1 card_ord.
  by rewrite (eq_bigr _ (fun i _ => one i)) sumr_const card_ord -mulrnA mulnC.
rewrite -!natrM ler_nat; case: n => [|[|m]] //=; have := divn_eq (m.+2 ^ 2) 4; have := ltn_pmod (m.+2 ^ 2) (isT : 0 < 4)%N.
nia.
Qed.

End Signs.
